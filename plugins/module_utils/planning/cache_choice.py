# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which host cache: what was asked for, or what fits. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GB, gb_text, gib_to_bytes
from ansible_collections.blackwell.inference.plugins.module_utils.planning.host_budget import (
    HostBudget,
    engine_check_bytes,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.host_cache import (
    HostPool,
    host_pool,
    largest_size_gb,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.refusal import Refusal
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request import PlanRequest


@dataclass(frozen=True)
class CacheRoom:
    """What the host has for caches: after the processes and the reserve, and within the engine's own check."""

    size_gb_that_fits: int
    engine_bytes_per_rank: int
    bytes_per_rank: int


def cache_room(request: PlanRequest, without_cache: HostBudget, cell_bytes: int) -> CacheRoom:
    engine = engine_check_bytes(request.host, request.serving.tp, request.rules)
    ours = max(0, without_cache.ledger.left_bytes - without_cache.reserve_bytes) // request.serving.tp
    room = min(ours, engine)
    return CacheRoom(largest_size_gb(room, cell_bytes, request.page_size), engine, room)


def choose_pool(
    request: PlanRequest, device_tokens: int, cell_bytes: int, room: CacheRoom
) -> tuple[HostPool | None, tuple[str, ...]]:
    """The pool, and a note where planning chose it. A size beats a ratio, as in the engine."""
    serving, page = request.serving, request.page_size
    if not serving.cached:
        return None, ()
    if serving.hicache_size is not None or serving.hicache_ratio is not None:
        return host_pool(device_tokens, cell_bytes, page, serving.hicache_size, serving.hicache_ratio), ()
    ratio = request.rules.hicache_ratio_default
    by_ratio = host_pool(device_tokens, cell_bytes, page, None, ratio)
    if by_ratio.bytes_per_rank <= room.bytes_per_rank or room.size_gb_that_fits == 0:
        return by_ratio, (
            f"Neither hicache_size nor hicache_ratio is given: the engine's default ratio of {ratio:g} is taken.",
        )
    by_size = host_pool(device_tokens, cell_bytes, page, room.size_gb_that_fits, None)
    if request.rules.host_must_exceed_device and by_size.tokens <= device_tokens:
        return by_ratio, ()  # refused, with what would be needed
    return by_size, (
        f"Neither hicache_size nor hicache_ratio is given, and the default ratio of {ratio:g} does not fit: {room.size_gb_that_fits} GB per rank are taken.",
    )


def cache_refusals(
    request: PlanRequest, pool: HostPool, device_tokens: int, room: CacheRoom, host: HostBudget
) -> tuple[Refusal, ...]:
    """What stands against this pool."""
    found = [
        _too_small(request, pool, device_tokens),
        _too_large(request, pool, device_tokens, room, host),
        _locked(request, pool),
    ]
    return tuple(refusal for refusal in found if refusal is not None)


def _asked(pool: HostPool) -> str:
    return f"hicache_size {pool.size_gb}" if pool.size_gb else f"hicache_ratio {pool.ratio:g}"


def _too_small(request: PlanRequest, pool: HostPool, device_tokens: int) -> Refusal | None:
    """SGLang up to 0.5.14 ends the start unless the host pool is larger than the device pool; its added page is no reason to ask for a ratio of 1."""
    ratio_exceeds = pool.ratio is None or pool.ratio > 1
    if not request.rules.host_must_exceed_device or (ratio_exceeds and pool.tokens > device_tokens):
        return None
    return Refusal(
        "host_cache_too_small",
        f"{_asked(pool)} makes a host cache of {pool.tokens:,} tokens beside {device_tokens:,} tokens on the "
        f"device; SGLang {request.rules.engine_version} starts only "
        f"when the host holds more. Set hicache_ratio above 1 or hicache_size to more than {device_tokens * pool.cell_bytes // GB}, or set hicache to false.",
    )


def _too_large(
    request: PlanRequest, pool: HostPool, device_tokens: int, room: CacheRoom, host: HostBudget
) -> Refusal | None:
    if pool.bytes_per_rank <= room.bytes_per_rank:
        return None
    ranks = request.serving.tp
    per_rank, total = (
        (f"{pool.size_gb:,} GB", f"{pool.size_gb * ranks:,} GB")
        if pool.size_gb
        else (gb_text(pool.bytes_per_rank), gb_text(pool.bytes_per_rank * ranks))
    )
    processes = host.ledger.taken_bytes - pool.bytes_per_rank * ranks
    return Refusal(
        "host_memory",
        f"{_asked(pool)} asks for {per_rank} on each of {ranks} ranks, {total} in all; this host has {gb_text(host.ledger.capacity.size_bytes)} available "
        f"({host.ledger.capacity.source}), the engine's processes take {gb_text(processes)} of that, and "
        f"host_reserve_gib {request.serving.host_reserve_gib:g} keeps "
        f"{gb_text(gib_to_bytes(request.serving.host_reserve_gib))}. {_what_fits(request, pool, device_tokens, room)}",
        certain=host.ledger.left_bytes < 0 or pool.bytes_per_rank > room.engine_bytes_per_rank,
    )


def _what_fits(request: PlanRequest, pool: HostPool, device_tokens: int, room: CacheRoom) -> str:
    fits = room.size_gb_that_fits
    fitting = host_pool(0, pool.cell_bytes, pool.page_size, fits, None) if fits else None
    if fitting is None or (request.rules.host_must_exceed_device and fitting.tokens <= device_tokens):
        return "No host cache larger than the device's pool fits: set hicache to false, or give the host more memory."
    return f"At most {fits} GB per rank fit: lower hicache_size or hicache_ratio, or leave both out and let the plan choose."


def _locked(request: PlanRequest, pool: HostPool) -> Refusal | None:
    limit = request.host.memlock_bytes
    if limit is None or limit >= pool.bytes_per_rank:
        return None
    return Refusal(
        "memlock",
        f"Each rank locks {gb_text(pool.bytes_per_rank)} for the host cache; here a process may lock {gb_text(limit)}, a limit that the unit cannot lift. "
        "Set the container's limit of locked memory to unlimited (lxc.prlimit.memlock: unlimited), or set hicache to false.",
    )
