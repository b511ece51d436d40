# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A ledger: what takes how many bytes, and how we know. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Line:
    """One named size; `source` says where the number came from: nvml, meminfo, config.json, safetensors, journal, profile, estimate or operator."""

    name: str
    size_bytes: int
    source: str

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "size_bytes": self.size_bytes, "source": self.source}


@dataclass(frozen=True)
class Ledger:
    """A capacity and what is taken from it. The table, the diff, the report and the verdict all render this."""

    capacity: Line
    lines: tuple[Line, ...]

    @property
    def taken_bytes(self) -> int:
        return sum(line.size_bytes for line in self.lines)

    @property
    def left_bytes(self) -> int:
        return self.capacity.size_bytes - self.taken_bytes

    def as_dict(self) -> dict[str, Any]:
        return {
            "capacity": self.capacity.as_dict(),
            "lines": [line.as_dict() for line in self.lines],
            "left_bytes": self.left_bytes,
        }
