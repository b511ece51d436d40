# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host memory of the instance, what is taken but could be had, and what the engine's own check will say. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core.ledger import Ledger, Line
from ...core.units import GIB, MIB, gb_text, ranks_text
from ...sglang.sizing_rules import SizingRules
from ..request.host import HostState
from .pools import HostCache, HostPool

# Less is no help against a host cache.
_WORTH_SAYING_BYTES = 1 * GIB


def spare_memory(host: HostState) -> str:
    """Sentences, each with a blank before it, or nothing: the ZFS cache above its minimum, and huge pages that were reserved.

    The ZFS cache counts as taken: it shrinks when memory runs short, but in steps, and a start that pins hundreds of GB at once outruns it.
    Reserved huge pages are no part of MemAvailable, and the engine takes none unless SGLANG_HUGEPAGE_SIZE says so (since 0.5.13).
    """
    sentences = ""
    arc = host.zfs_arc_bytes - host.zfs_arc_min_bytes
    if arc >= _WORTH_SAYING_BYTES:
        sentences += (
            f" The ZFS cache holds {gb_text(host.zfs_arc_bytes)} and can go down to {gb_text(host.zfs_arc_min_bytes)}, but not at once, so that it counts "
            "as taken: lower zfs_arc_max, wait until it has shrunk, and plan again."
        )
    if host.huge_pages_bytes >= _WORTH_SAYING_BYTES:
        sentences += f" {gb_text(host.huge_pages_bytes)} are reserved as huge pages, which the engine does not use: lower vm.nr_hugepages to have them back."
    return sentences


# The design host had 445 GiB available before the start and 78 GiB after it, with 333.6 GiB pinned (2026-02-24): 33.4 GiB stayed
# with the engine's own processes. A rank is a Python process with its own CUDA context, NCCL's host buffers, pinned staging
# and compiled kernels; beside the 8 of them stand tokenizer, detokenizer and HTTP server, Python processes without CUDA
# of about 0.5 GiB each.
_CUDA_RANK_BYTES = 4 * GIB
_CPU_RANK_BYTES = 1 * GIB
_FRONT_BYTES = 1434 * MIB
# Other processes come and go, and `free` rounds to a GiB.
AVAILABLE_TOLERANCE_BYTES = 2 * GIB


@dataclass(frozen=True)
class HostBudget:
    """`ledger` starts from what the instance may take: MemAvailable, or the cgroup's headroom where that is less.

    `shared_bytes` is Shmem once the server stands.
    """

    ledger: Ledger
    reserve_bytes: int
    memory_available_bytes: int
    memory_total_bytes: int
    shared_bytes: int = 0

    @property
    def available_after_start_bytes(self) -> int:
        """MemAvailable once the server stands."""
        return max(0, self.memory_available_bytes - self.ledger.taken_bytes)

    def as_dict(self) -> dict[str, Any]:
        return {
            **self.ledger.as_dict(),
            "reserve_bytes": self.reserve_bytes,
            "available_after_start_bytes": self.available_after_start_bytes,
            "available_after_start_tolerance_bytes": AVAILABLE_TOLERANCE_BYTES,
            "free_h": self.free_h(),
        }

    def free_h(self) -> dict[str, float]:
        """What `free -h` will show, in GiB. "used" is the total less what is available, as current procps counts; "free" hangs on the page cache."""
        shown = {
            "total_gib": self.memory_total_bytes,
            "used_gib": self.memory_total_bytes - self.available_after_start_bytes,
            "shared_gib": self.shared_bytes,
            "available_gib": self.available_after_start_bytes,
            "tolerance_gib": AVAILABLE_TOLERANCE_BYTES,
        }
        return {name: round(size / GIB, 1) for name, size in shown.items()}


def host_capacity(host: HostState) -> Line:
    """The smaller of MemAvailable and what the binding cgroup still allows."""
    headroom = host.cgroup_headroom_bytes
    if headroom is not None and headroom < host.memory_available_bytes:
        return Line("memory the cgroup still allows", headroom, "cgroup")
    return Line("available memory before the start", host.memory_available_bytes, host.memory_source)


def rank_process_bytes(device: str) -> int:
    """One rank process without pools."""
    return _CPU_RANK_BYTES if device == "cpu" else _CUDA_RANK_BYTES


def process_lines(ranks: int, device: str) -> tuple[Line, ...]:
    """The engine's processes without pools."""
    name = f"{ranks} rank process{'es' if ranks > 1 else ''}"
    source = "measured: 2026-02-24 on the design host, 4 GiB for each"
    if device == "cpu":
        source = "estimate: 1 GiB for each, Python and torch without CUDA"
    return (
        Line(name, ranks * rank_process_bytes(device), source),
        Line("tokenizer, detokenizer and HTTP processes", _FRONT_BYTES, "estimate: 3 Python processes without CUDA"),
    )


def cache_lines(cache: HostCache | None) -> tuple[Line, ...]:
    """One line for each kind of pool, over all ranks."""
    if cache is None:
        return ()
    ranks = ranks_text(cache.ranks)
    lines = []
    for pool in cache.pools:
        same = [other for stage in cache.stages for other in stage if other.kind == pool.kind]
        name = "host cache" if len(cache.pools) == 1 else f"host cache ({pool.name})"
        what = "states" if pool.kind == "state" else "tokens"
        lines.append(
            Line(
                f"{name} of {ranks}",
                cache.tp * sum(other.allocated_bytes for other in same),
                f"plan: {pool.slots:,} {what} of {pool.slot_bytes:,} bytes for each",
            )
        )
    return tuple(lines)


def engine_check_bytes(host: HostState, ranks: int, rules: SizingRules, taken_bytes: int = 0) -> int:
    """What the engine's own check allows a pool of one rank, once the instance has taken this much; at best all pools of the rank together."""
    available = host.memory_available_bytes
    if rules.host_check_knows_cgroup and host.cgroup_headroom_bytes is not None:
        available = min(available, host.cgroup_headroom_bytes)
    allowed = max(0, available - taken_bytes - rules.host_check_reserve_bytes)
    return allowed // ranks if rules.host_check_divides else allowed


def engine_passes(cache: HostCache, host: HostState, rules: SizingRules) -> bool:
    """Whether a rank can get past the engine's check of each pool, which looks anew at what is available after the pools before it.

    The check counts at least the rank's own earlier pools as gone; how much of the other ranks' is gone by then is chance.
    """
    return all(_passes(pools, cache.ranks, host, rules) for pools in cache.stages)


def _passes(pools: tuple[HostPool, ...], ranks: int, host: HostState, rules: SizingRules) -> bool:
    taken = 0
    for pool in pools:
        if pool.size_bytes > engine_check_bytes(host, ranks, rules, taken):
            return False
        taken += pool.allocated_bytes
    return True
