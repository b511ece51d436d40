# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a start takes. Private to the collection, may change any time."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

# The design host pinned 358 GB and loaded 547 GB; its start outlived a wait of 675 s and was done within 900 s (2026-02-24).
# At 2 GB/s the weights take 274 s of that, which leaves about 1 GB/s for pinning.
_PIN_BYTES_PER_SECOND = 1_000_000_000
# Imports, process groups, graph capture and the warm-up request; on a CPU the real engine was up within 40 s.
_OTHER_SECONDS = {"cuda": 120, "cpu": 40}
# A start that is ten times slower than usual and still moving is a good start: only what is slower than that is cut off.
_TIMEOUT_MULTIPLE = 12


@dataclass(frozen=True)
class StartEstimate:
    """Whole seconds, rounded up; `shards` is the number of weight files."""

    weights_bytes: int
    load_seconds: int
    pin_seconds: int
    other_seconds: int
    shards: int

    @property
    def estimate_seconds(self) -> int:
        return self.load_seconds + self.pin_seconds + self.other_seconds

    def as_dict(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "estimate_seconds": self.estimate_seconds,
            "timeout_seconds": self.estimate_seconds * _TIMEOUT_MULTIPLE,
        }


def pin_seconds(pinned_bytes: int) -> int:
    """Whole seconds that pinning takes, all ranks together."""
    return math.ceil(pinned_bytes / _PIN_BYTES_PER_SECOND)


def start_estimate(
    weights_bytes: int, pinned_bytes: int, shards: int, disk_bytes_per_second: float, device: str
) -> StartEstimate:
    return StartEstimate(
        weights_bytes=weights_bytes,
        load_seconds=math.ceil(weights_bytes / disk_bytes_per_second),
        pin_seconds=pin_seconds(pinned_bytes),
        other_seconds=_OTHER_SECONDS[device],
        shards=shards,
    )
