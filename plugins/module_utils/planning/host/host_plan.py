# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host's part of a plan: its cache, its budget and what stands against them. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...core.ledger import Ledger, Line
from ...core.units import gb_text, gib_to_bytes
from ..device.pools import MTP_ALGORITHMS, DevicePools, Speculation
from ..refusal import Refusal
from ..request import PlanRequest
from .cache_choice import CacheCase, cache_room, choose_cache
from .cache_refusals import cache_refusals, unsupported
from .host_budget import HostBudget, cache_lines, host_capacity, process_lines
from .host_cache import HostCache
from .host_numa import node_note
from .host_spare import spare_memory
from .loader_peak import loader_note, loader_refusal

# Algorithms whose draft the checkpoint itself can bring, as MTP layers.


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
    speculation: Speculation | None = None,
    in_host: Sequence[Line] = (),
) -> HostCachePlan:
    """From the device pools of one rank for each pipeline stage; `in_host` is what all ranks of a CPU instance keep in RAM."""
    ranks = request.serving.tp * len(stages)
    bare = _budget(request, ranks, in_host, None)
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
