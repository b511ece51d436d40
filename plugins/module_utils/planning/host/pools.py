# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hierarchical cache in host memory: SGLang's L2 pools, a set for every rank, from the device pools. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Callable

from ...sglang.sizing_rules import SizingRules
from ..device.pools import DevicePools, Pool


@dataclass(frozen=True)
class HostCacheOptions:
    """What the engine is told of the host cache; a size, in GB of 10^9 for each rank, beats a ratio.

    `mtp_draft`: the checkpoint's own MTP layers draft, whose keys and values newer versions keep in the row of the target.
    """

    size_gb: int | None = None
    ratio: float | None = None
    page_size: int = 1
    mtp_draft: bool = False


@dataclass(frozen=True)
class HostPool:
    """One host pool of one rank. `kind` as in `Pool`: full, sliding, state, indexer or draft; `slots` are tokens, or requests of a state pool.

    `padding_slots` are allocated beside the slots and neither logged nor checked by the engine.
    """

    name: str
    kind: str
    slots: int
    slot_bytes: int
    padding_slots: int = 0

    @property
    def size_bytes(self) -> int:
        """What the engine logs, in GB of 10^9, and checks."""
        return self.slots * self.slot_bytes

    @property
    def allocated_bytes(self) -> int:
        return (self.slots + self.padding_slots) * self.slot_bytes

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "kind": self.kind, "slots": self.slots, "bytes": self.size_bytes}


@dataclass(frozen=True)
class HostCache:
    """All host pools. `stages` holds the pools of one rank for each pipeline stage, and each stage has `tp` ranks.

    `size_gb` or `ratio` is what the engine is told.
    """

    stages: tuple[tuple[HostPool, ...], ...]
    tp: int
    page_size: int
    size_gb: int | None
    ratio: float | None

    @property
    def ranks(self) -> int:
        return len(self.stages) * self.tp

    @property
    def pools(self) -> tuple[HostPool, ...]:
        """The pools of the rank that takes most."""
        return max(self.stages, key=_allocated)

    @property
    def tokens(self) -> int:
        """Slots of the pool that all others follow."""
        return self.pools[0].slots

    @property
    def bytes_per_rank(self) -> int:
        """What the rank that takes most allocates."""
        return _allocated(self.pools)

    @property
    def bytes_total(self) -> int:
        return self.tp * sum(_allocated(stage) for stage in self.stages)


def _allocated(pools: tuple[HostPool, ...]) -> int:
    return sum(pool.allocated_bytes for pool in pools)


# The kinds that are sized by themselves; an indexer and a draft follow the first of them, slot by slot.
SIZED = ("full", "sliding", "state")


def host_pools(device: DevicePools, options: HostCacheOptions, rules: SizingRules) -> tuple[HostPool, ...]:
    """The host pools of one rank without pipeline stages, the one that others follow first.

    SGLang since 0.5.5: slots are int(size * 1e9 // row), else int(device slots * ratio); whole pages, rounded down in 0.5.5, one page
    more since 0.5.6. MLA included, every rank keeps a whole copy. 159,277 tokens of Kimi-K2.5 at ratio 4.0: 637,109 tokens, 44.77 GB.
    """
    return host_cache((device,), 1, options, rules).stages[0]


def host_cache(stages: Sequence[DevicePools], tp: int, options: HostCacheOptions, rules: SizingRules) -> HostCache:
    """The host pools of all ranks; `stages` are the device pools of one rank for each pipeline stage.

    Since 0.5.15 a size makes all stages take the tokens of the one that fits fewest, before pages are counted.
    """
    asked = [_asked_slots(device, options, rules) for device in stages]
    if options.size_gb and rules.hicache_size_min_over_stages:
        kinds = {kind for slots in asked for kind in slots}
        least = {kind: min(slots[kind] for slots in asked if kind in slots) for kind in kinds}
        asked = [{kind: least[kind] for kind in slots} for slots in asked]
    built = tuple(_built(device, slots, options, rules) for device, slots in zip(stages, asked))
    return HostCache(built, tp, options.page_size, options.size_gb, None if options.size_gb else options.ratio)


def largest_size_gb(fits: Callable[[int], bool], highest: int) -> int:
    """The largest whole size from 1 to `highest` that fits, 0 when none does; what fits must fit at every smaller size too."""
    low, high = 0, max(0, highest)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _asked_slots(device: DevicePools, options: HostCacheOptions, rules: SizingRules) -> dict[str, int]:
    sized = [pool for pool in device.pools if pool.kind in SIZED]
    if not options.size_gb:
        return {pool.kind: int(pool.slots * (options.ratio or 0.0)) for pool in sized}
    shares = _shares_gb(options.size_gb, device, sized, rules)
    return {pool.kind: int(shares[pool.kind] * 1e9 // _row_bytes(pool, device, options, rules)) for pool in sized}


def _shares_gb(size_gb: int, device: DevicePools, sized: Sequence[Pool], rules: SizingRules) -> dict[str, float]:
    """GB for each pool: the whole for each up to 0.5.16, since 0.5.17 in the proportion of the device's buffers, padding and drafts' states too."""
    weights = {pool.kind: pool.size_bytes for pool in sized}
    if "state" in weights:
        weights["state"] += sum(pool.size_bytes for pool in device.pools if pool.kind == "draft_state")
    total = sum(weights.values())
    if len(sized) == 1 or not total or not rules.hicache_size_split:
        return {pool.kind: float(size_gb) for pool in sized}
    return {kind: size_gb * weight / total for kind, weight in weights.items()}


def _row_bytes(pool: Pool, device: DevicePools, options: HostCacheOptions, rules: SizingRules) -> int:
    """Host bytes of one slot: the device's, and what shares its row."""
    row = pool.slot_bytes
    if pool.kind == "full" and rules.hicache_index_keys == "row":
        row += _slot_bytes(device, "indexer")
    if pool.kind == "full" and _packs(options, rules):
        row += _slot_bytes(device, "draft") - _draft_keys(device)
    if pool.kind == "indexer" and _packs(options, rules):
        row += _draft_keys(device)
    return row


def _slot_bytes(device: DevicePools, kind: str) -> int:
    return sum(pool.slot_bytes for pool in device.pools if pool.kind == kind)


def _draft_keys(device: DevicePools) -> int:
    """The part of the draft's slot that index keys take: an MTP layer is built as the target's layers are."""
    keys = _slot_bytes(device, "indexer")
    return _slot_bytes(device, "draft") * keys // (keys + _slot_bytes(device, "full")) if keys else 0


def _packs(options: HostCacheOptions, rules: SizingRules) -> bool:
    return options.mtp_draft and rules.hicache_draft == "packed"


def _built(
    device: DevicePools, asked: Mapping[str, int], options: HostCacheOptions, rules: SizingRules
) -> tuple[HostPool, ...]:
    page = options.page_size
    pools = []
    for pool in device.pools:
        if pool.kind in SIZED:
            slots = _whole_pages(asked[pool.kind], 1 if pool.kind == "state" else page, rules)
            pools.append(HostPool(pool.name, pool.kind, slots, _row_bytes(pool, device, options, rules)))
    pools.sort(key=lambda pool: SIZED.index(pool.kind))
    if not pools or pools[0].kind == "state":
        return tuple(pools)
    for pool in device.pools:
        if pool.kind == "indexer" and rules.hicache_index_keys == "pool":
            padding = (page + 1) // page * page
            row = _row_bytes(pool, device, options, rules)
            pools.append(HostPool(pool.name, pool.kind, pools[0].slots, row, padding))
        if pool.kind == "draft" and pool.slots and rules.hicache_draft != "none" and not _packs(options, rules):
            slots = _draft_slots(pools[0].slots, pool.slots, page, rules)
            keys = _draft_keys(device) if options.mtp_draft else 0  # up to 0.5.17 those of an MTP layer are not kept
            pools.append(HostPool(pool.name, pool.kind, slots, pool.slot_bytes - keys))
    return tuple(pools)


def _draft_slots(followed: int, device_slots: int, page: int, rules: SizingRules) -> int:
    """The engine makes a ratio of the followed pool's slots and sizes the draft's pool by it; since 0.5.23 it takes the slots themselves."""
    if rules.hicache_draft_exact:
        return followed
    return _whole_pages(int(device_slots * (followed / device_slots)), page, rules)


def _whole_pages(slots: int, page: int, rules: SizingRules) -> int:
    return (slots // page + (1 if rules.host_page_added else 0)) * page
