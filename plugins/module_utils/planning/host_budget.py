# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host memory of the instance, and what the engine's own check will say. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ansible_collections.blackwell.inference.plugins.module_utils.core.ledger import Ledger, Line
from ansible_collections.blackwell.inference.plugins.module_utils.core.sizing_rules import SizingRules
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB, MIB
from ansible_collections.blackwell.inference.plugins.module_utils.planning.host_cache import HostPool
from ansible_collections.blackwell.inference.plugins.module_utils.planning.host_seen import HostSeen

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
    """`ledger` starts from what the instance may take: MemAvailable, or the cgroup's headroom where that is less."""

    ledger: Ledger
    reserve_bytes: int
    memory_available_bytes: int

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
        }


def host_capacity(host: HostSeen) -> Line:
    """The smaller of MemAvailable and what the binding cgroup still allows."""
    headroom = host.cgroup_headroom_bytes
    if headroom is not None and headroom < host.memory_available_bytes:
        return Line("memory the cgroup still allows", headroom, "cgroup")
    return Line("available memory before the start", host.memory_available_bytes, host.memory_source)


def process_lines(ranks: int, device: str) -> tuple[Line, ...]:
    """The engine's processes without pools."""
    name = f"{ranks} rank process{'es' if ranks > 1 else ''}"
    if device == "cpu":
        ranks_line = Line(name, ranks * _CPU_RANK_BYTES, "estimate: 1 GiB for each, Python and torch without CUDA")
    else:
        source = "measured: 2026-02-24 on the design host, 4 GiB for each"
        ranks_line = Line(name, ranks * _CUDA_RANK_BYTES, source)
    return (
        ranks_line,
        Line("tokenizer, detokenizer and HTTP processes", _FRONT_BYTES, "estimate: 3 Python processes without CUDA"),
    )


def cache_lines(pool: HostPool | None, ranks: int) -> tuple[Line, ...]:
    if pool is None:
        return ()
    return (
        Line(
            f"host cache of {ranks} rank{'s' if ranks > 1 else ''}",
            pool.bytes_per_rank * ranks,
            f"plan: {pool.tokens:,} tokens of {pool.cell_bytes:,} bytes for each",
        ),
    )


def engine_check_bytes(host: HostSeen, ranks: int, rules: SizingRules) -> int:
    """What the engine's own check allows one rank's pool. It looks at MemAvailable before the pools are pinned."""
    available = host.memory_available_bytes
    if rules.host_check_knows_cgroup and host.cgroup_headroom_bytes is not None:
        available = min(available, host.cgroup_headroom_bytes)
    allowed = max(0, available - rules.host_check_reserve_bytes)
    return allowed // ranks if rules.host_check_divides else allowed
