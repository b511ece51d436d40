# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ratio that the engine takes when it sizes the host cache by itself. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.sizing_rules import SizingRules
from ..device.pools import DevicePools

# What the engine keeps back for rounding to pages and the like (0.5.21 to 0.5.23).
_SLACK = 0.05


def auto_ratio(stages: Sequence[DevicePools], allowed_bytes: int, fraction: float, rules: SizingRules) -> float:
    """min(default ratio, allowed * fraction * 0.95 / device bytes), the least of all stages; 0 where nothing is allowed.

    SGLang 0.5.21 to 0.5.23, where neither size nor ratio is given; `allowed_bytes` is what its check allows one rank. Two ranks with
    4.4 GiB each at 0.8 and small pools keep 2.0.
    """
    budget = int(allowed_bytes * fraction)
    return min(min(rules.hicache_ratio_default, budget * (1 - _SLACK) / mirrored_bytes(device)) for device in stages)


def mirrored_bytes(device: DevicePools) -> int:
    """Device bytes of what the host will hold, a draft scaled to the slots that it follows."""
    followed = next((pool.slots for pool in device.pools if pool.kind in ("full", "sliding")), 0)
    total = 0
    for pool in device.pools:
        scaled = pool.kind == "draft" and pool.slots
        total += pool.size_bytes * followed // pool.slots if scaled else pool.size_bytes
    return max(1, total)
