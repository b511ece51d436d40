# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host's part of a plan: its cache, its budget and what stands against them. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...core.errors import Refusal
from ...core.ledger import Ledger, Line
from ...core.units import GB, gb_text, gib_to_bytes, ranks_text
from ..device.pools import DevicePools
from ..request.parallelism import MTP_ALGORITHMS
from ..request.request import PlanRequest
from .budget import HostBudget, cache_lines, engine_passes, host_capacity, process_lines, spare_memory
from .cache_choice import CacheCase, cache_room, choose_cache
from .numa_and_loading import loader_note, loader_refusal, node_note, node_refusal
from .pools import HostCache


def unsupported(request: PlanRequest, stages: Sequence[DevicePools]) -> Refusal | None:
    """Versions that end the start, or lose part of what they cached, when this model is given a host cache."""
    kinds, rules = {pool.kind for device in stages for pool in device.pools}, request.rules
    engine = f"SGLang {rules.engine_version}"
    if "state" in kinds and not rules.hicache_state:
        what = f"{engine} has no host cache for models with linear-attention or state-space layers; 0.5.10 was the first that has"
    elif "sliding" in kinds and not rules.hicache_sliding:
        what = f"{engine} has no host cache for models with sliding-window layers in a pool of their own; 0.5.13 was the first that has"
    elif "indexer" in kinds and rules.hicache_index_keys == "none":
        what = f"{engine} keeps no index keys of sparse attention in host memory, so that what it loads back is incomplete; 0.5.9 was the first that does"
    elif "state" in kinds and effective_layout(request) not in rules.hicache_state_layouts:
        layouts = " or ".join(rules.hicache_state_layouts)
        return Refusal(
            "hicache_unsupported",
            f"The layout {effective_layout(request)} is asked for; for a model with linear-attention or state-space layers {engine} starts only with "
            f"{layouts}: set hicache_mem_layout to {rules.hicache_state_layouts[-1]} and hicache_io_backend to direct.",
        )
    else:
        return None
    return Refusal("hicache_unsupported", f"{what}: set hicache to false, or choose a newer version.")


def effective_layout(request: PlanRequest) -> str:
    """The layout after the engine's own replacement: page_first with direct input and output becomes page_first_direct."""
    layout = request.serving.hicache_mem_layout or request.rules.hicache_layout_default
    direct = request.serving.hicache_io_backend == "direct"
    return "page_first_direct" if direct and layout == "page_first" else layout


def cache_refusals(case: CacheCase, cache: HostCache, fits_gb: int, host: HostBudget) -> tuple[Refusal, ...]:
    found = [
        _too_small(case, cache),
        _too_large(case, cache, fits_gb, host),
        node_refusal(case.request, cache) if case.room.holds(cache) else None,
        _locked(case.request, cache),
    ]
    return tuple(refusal for refusal in found if refusal is not None)


def _asked(cache: HostCache) -> str:
    return f"hicache_size {cache.size_gb}" if cache.size_gb else f"hicache_ratio {cache.ratio:g}"


def _too_small(case: CacheCase, cache: HostCache) -> Refusal | None:
    """SGLang up to 0.5.14 ends the start unless every host pool is larger than its device pool; the added page is no reason to ask for a ratio of 1."""
    rules = case.request.rules
    ratio_exceeds = cache.ratio is None or cache.ratio > 1
    if not rules.host_must_exceed_device or (ratio_exceeds and case.exceeds_device(cache)):
        return None
    pool, slots = min(case.beside_device(cache), key=lambda pair: pair[0].slots / max(1, pair[1]))
    size = slots * pool.slot_bytes // GB
    where = "a host cache" if len(cache.pools) == 1 else f"a host pool ({pool.name})"
    unit = "requests" if pool.kind == "state" else "tokens"
    return Refusal(
        "host_cache_too_small",
        f"{_asked(cache)} makes {where} of {pool.slots:,} {unit} beside {slots:,} {unit} on the "
        f"device; SGLang {rules.engine_version} starts only "
        f"when the host holds more. Set hicache_ratio above 1 or hicache_size to more than {size}, or set hicache to false.",
    )


def _too_large(case: CacheCase, cache: HostCache, fits_gb: int, host: HostBudget) -> Refusal | None:
    if case.room.holds(cache):
        return None
    request = case.request
    processes = host.ledger.taken_bytes - cache.bytes_total
    return Refusal(
        "host_memory",
        f"{_asked(cache)} asks for {_amounts(cache)}; this host has {gb_text(host.ledger.capacity.size_bytes)} available "
        f"({host.ledger.capacity.source}), the engine's processes take {gb_text(processes)} of that, and "
        f"host_reserve_gib {request.serving.host_reserve_gib:g} keeps "
        f"{gb_text(gib_to_bytes(request.serving.host_reserve_gib))}{_own_check(case, cache)}. {_what_fits(case, fits_gb)}{spare_memory(request.host)}",
        certain=host.ledger.left_bytes < 0 or not engine_passes(cache, request.host, request.rules),
    )


def _own_check(case: CacheCase, cache: HostCache) -> str:
    """Said where the engine is what stands against the cache, and not the operator's reserve."""
    if cache.bytes_total > case.room.bytes_total:
        return ""
    keeps = gb_text(case.request.rules.host_check_reserve_bytes)
    return f"; the engine's own check keeps {keeps} and leaves {gb_text(case.room.engine_bytes_per_rank)} to each rank"


def _amounts(cache: HostCache) -> str:
    """What it comes to, for each rank and in all, with the pools where a rank has several."""
    ranks = cache.ranks
    if cache.size_gb and len(cache.pools) == 1 and len(cache.stages) == 1:
        total = f" on each of {ranks_text(ranks)}, {cache.size_gb * ranks:,} GB in all" if ranks > 1 else ""
        return f"{cache.size_gb:,} GB{total}"
    pools = ", ".join(f"{pool.name} {gb_text(pool.size_bytes)}" for pool in cache.pools)
    each = "on each" if len(cache.stages) == 1 else "at most on each"
    several = f" ({pools})" if len(cache.pools) > 1 else ""
    total = f" {each} of {ranks_text(ranks)}, {gb_text(cache.bytes_total)} in all" if ranks > 1 else ""
    return f"{gb_text(cache.bytes_per_rank)}{several}{total}"


def _what_fits(case: CacheCase, fits_gb: int) -> str:
    rules = case.request.rules
    if not fits_gb or (rules.host_must_exceed_device and not case.exceeds_device(case.cache(fits_gb, None))):
        return "No host cache larger than the device's pool fits: set hicache to false, or give the host more memory."
    return (
        f"At most {fits_gb} GB per rank fit: lower hicache_size or hicache_ratio, or set hicache_size to null "
        "without a hicache_ratio and let the plan choose."
    )


def _locked(request: PlanRequest, cache: HostCache) -> Refusal | None:
    limit = request.host.memlock_bytes
    if limit is None or limit >= cache.bytes_per_rank:
        return None
    return Refusal(
        "memlock",
        f"Each rank locks {gb_text(cache.bytes_per_rank)} for the host cache; here a process may lock {gb_text(limit)}, a limit that the unit cannot lift. "
        "Set the container's limit of locked memory to unlimited (lxc.prlimit.memlock: unlimited), or set hicache to false.",
    )


@dataclass(frozen=True)
class HostCachePlan:
    """`cache` is None where none was asked for."""

    cache: HostCache | None
    host: HostBudget
    size_gb_that_fits: int
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()


def plan_host_cache(
    request: PlanRequest,
    stages: Sequence[DevicePools],
    in_host: Sequence[Line] = (),
) -> HostCachePlan:
    """From the device pools of one rank for each pipeline stage; `in_host` is what all ranks of a CPU instance keep in RAM."""
    ranks = request.serving.tp * len(stages)
    bare = _budget(request, ranks, in_host, None)
    speculation = request.speculation
    mtp = speculation is not None and speculation.draft is None and speculation.algorithm in MTP_ALGORITHMS
    case = CacheCase(request, tuple(stages), mtp, cache_room(request, ranks, bare))
    # Without device pools the start is refused for want of GPU memory, and there is nothing to mirror.
    mirrored = all(device.pools for device in stages)
    fits_gb = case.size_gb_that_fits() if mirrored else 0
    cache, notes = choose_cache(case, fits_gb) if mirrored else (None, ())
    host = _budget(request, ranks, in_host, cache)
    further = (node_note(request, cache) if cache else None, loader_note(request, ranks))
    notes += tuple(note for note in further if note is not None)
    return HostCachePlan(cache, host, fits_gb, _refusals(case, cache, fits_gb, bare, host), notes)


def _refusals(
    case: CacheCase, cache: HostCache | None, fits_gb: int, bare: HostBudget, host: HostBudget
) -> tuple[Refusal, ...]:
    missing = unsupported(case.request, case.stages) if cache else None
    found = (missing,) if missing else cache_refusals(case, cache, fits_gb, host) if cache else ()
    if bare.ledger.left_bytes >= bare.reserve_bytes:
        loader = loader_refusal(case.request, case.ranks, bare)
        return (*((loader,) if loader else ()), *found)
    # What is wrong without a cache comes first; of the cache only what no force can help, as the rest says the same again.
    return (_bare_refusal(case.request, bare), *(refusal for refusal in found if not refusal.overridable))


def _budget(request: PlanRequest, ranks: int, in_host: Sequence[Line], cache: HostCache | None) -> HostBudget:
    lines = (*process_lines(ranks, request.serving.device), *in_host, *cache_lines(cache))
    shared = cache.bytes_total if cache and request.rules.host_pools_shared else 0
    return HostBudget(
        Ledger(host_capacity(request.host), lines),
        gib_to_bytes(request.serving.host_reserve_gib),
        request.host.memory_available_bytes,
        request.host.memory_total_bytes,
        request.host.shared_bytes + shared,
    )


def _bare_refusal(request: PlanRequest, bare: HostBudget) -> Refusal:
    return Refusal(
        "host_memory",
        f"The host has {gb_text(bare.ledger.capacity.size_bytes)} of memory for this instance ({bare.ledger.capacity.source}); without any host cache it takes "
        f"{gb_text(bare.ledger.taken_bytes)} and host_reserve_gib {request.serving.host_reserve_gib:g} keeps {gb_text(bare.reserve_bytes)}. "
        f"Give the host more memory, stop what else runs there, or lower tp or host_reserve_gib.{spare_memory(request.host)}",
        certain=bare.ledger.left_bytes < 0,
    )
