# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which host cache: what was asked for, what fits, or the ratio that the engine takes by itself. Private to the collection, may change any time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...core.fields import is_number
from ...core.units import GB
from ...sglang.sizing_rules import SizingRules
from ..device.pools import DevicePools
from ..request.request import PlanRequest
from .budget import HostBudget, engine_check_bytes
from .pools import HostCache, HostCacheOptions, HostPool, host_cache, largest_size_gb

# What the engine keeps back for rounding to pages and the like (since 0.5.21).
_SLACK = 0.05


def auto_ratio(stages: Sequence[DevicePools], allowed_bytes: int, fraction: float, rules: SizingRules) -> float:
    """min(default ratio, allowed * fraction * 0.95 / device bytes), the least of all stages; 0 where nothing is allowed.

    SGLang since 0.5.21, where neither size nor ratio is given; `allowed_bytes` is what its check allows one rank. Two ranks with
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


AUTO_FRACTION = "hicache-host-memory-fraction"


@dataclass(frozen=True)
class CacheRoom:
    """What the host has for caches: of all ranks after the processes and the reserve, and of one rank within the engine's own check."""

    bytes_total: int
    engine_bytes_per_rank: int

    def holds(self, cache: HostCache) -> bool:
        return cache.bytes_total <= self.bytes_total and cache.bytes_per_rank <= self.engine_bytes_per_rank


@dataclass(frozen=True)
class CacheCase:
    """Device pools of one rank for each pipeline stage, and the room there is for their host pools."""

    request: PlanRequest
    stages: tuple[DevicePools, ...]
    mtp_draft: bool
    room: CacheRoom

    @property
    def ranks(self) -> int:
        return self.request.serving.tp * len(self.stages)

    def cache(self, size_gb: int | None, ratio: float | None) -> HostCache:
        options = HostCacheOptions(size_gb, ratio, self.request.page_size, self.mtp_draft)
        return host_cache(self.stages, self.request.serving.tp, options, self.request.rules)

    def exceeds_device(self, cache: HostCache) -> bool:
        """Whether every host pool has more slots than the device pool it mirrors."""
        return all(pool.slots > slots for pool, slots in self.beside_device(cache))

    def beside_device(self, cache: HostCache) -> list[tuple[HostPool, int]]:
        """Each host pool with the slots of its device pool; an indexer has its target's."""
        return [
            (pool, device.slots(pool.kind))
            for pools, device in zip(cache.stages, self.stages)
            for pool in pools
            if pool.kind != "indexer"
        ]

    def size_gb_that_fits(self) -> int:
        """The largest hicache_size, in GB per rank, 0 when none fits."""
        # The rank that takes most holds about a whole size, however its pools are rounded.
        most = min(self.room.engine_bytes_per_rank, self.room.bytes_total // self.request.serving.tp)
        return largest_size_gb(lambda size_gb: self.room.holds(self.cache(size_gb, None)), most // GB + 1)


def cache_room(request: PlanRequest, ranks: int, without_cache: HostBudget) -> CacheRoom:
    """The engine looks when its processes are up, and so sees less than was there before the start."""
    ours = max(0, without_cache.ledger.left_bytes - without_cache.reserve_bytes)
    engine = engine_check_bytes(request.host, ranks, request.rules, without_cache.ledger.taken_bytes)
    return CacheRoom(ours, engine)


def choose_cache(case: CacheCase, fits_gb: int) -> tuple[HostCache | None, tuple[str, ...]]:
    """The cache, and a note where planning chose it. A size beats a ratio, as in the engine."""
    serving, rules = case.request.serving, case.request.rules
    if not serving.cached:
        return None, ()
    if serving.hicache_size is not None or serving.hicache_ratio is not None:
        return case.cache(serving.hicache_size, serving.hicache_ratio), ()
    fraction = case.request.arguments.get(AUTO_FRACTION)
    if rules.hicache_auto_fraction is not None and fraction is not None and is_number(fraction):
        # Told outright, rounded down: the engine would look at what is free at its own start, and the plan could not be held to it.
        ratio = math.floor(auto_ratio(case.stages, case.room.engine_bytes_per_rank, fraction, rules) * 1000) / 1000
        return case.cache(None, ratio), (
            f"{AUTO_FRACTION} {fraction:g} makes a hicache_ratio of {ratio:g} by the engine's own rule.",
        )
    ratio = rules.hicache_ratio_default
    by_ratio = case.cache(None, ratio)
    if case.room.holds(by_ratio) or fits_gb == 0:
        return by_ratio, (
            f"Neither hicache_size nor hicache_ratio is given: the engine's default ratio of {ratio:g} is taken.",
        )
    by_size = case.cache(fits_gb, None)
    if rules.host_must_exceed_device and not case.exceeds_device(by_size):
        return by_ratio, ()  # refused, with what would be needed
    return by_size, (
        f"Neither hicache_size nor hicache_ratio is given, and the default ratio of {ratio:g} does not fit: {fits_gb} GB per rank are taken.",
    )
