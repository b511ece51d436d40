# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPU memory of one rank, the poorest. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core.ledger import Ledger, Line
from .pools import DevicePools
from .requests import RunningRequests


@dataclass(frozen=True)
class GpuBudget:
    """What the engine will allocate on a card at this fraction. `stages` are the pools of each pipeline stage, `weights_bytes` those of model and draft.

    `activations` is what a prefill chunk of `chunk_tokens` takes of the headroom.
    """

    ledger: Ledger
    base_bytes: int
    weights_bytes: int
    fraction: float
    stages: tuple[DevicePools, ...]
    graph_batch: int
    graph_bytes: int
    chunk_tokens: int
    activations: Line

    @property
    def pools(self) -> DevicePools:
        """Those of the stage that decides how many tokens there are."""
        return poorest(self.stages)

    @property
    def tokens(self) -> int:
        return self.pools.tokens

    @property
    def requests(self) -> RunningRequests:
        return self.pools.requests

    @property
    def headroom_bytes(self) -> int:
        """Free after graph capture."""
        return self.ledger.left_bytes

    def as_dict(self) -> dict[str, Any]:
        cell = cell_bytes(self.pools)
        return {
            "base_bytes": self.base_bytes,
            "tokens": self.tokens,
            "cell_bytes": cell,
            "kv_bytes": self.tokens * cell,
            "headroom_bytes": self.headroom_bytes,
            "mem_fraction_static": self.fraction,
            "max_running_requests": self.requests.limit,
            "graph_batch": self.graph_batch,
            "chunked_prefill_size": self.chunk_tokens,
            "activations": self.activations.as_dict(),
            "capacity": self.ledger.capacity.as_dict(),
            "lines": [line.as_dict() for line in self.ledger.lines],
        }


def poorest(stages: tuple[DevicePools, ...]) -> DevicePools:
    return next((stage for stage in stages if stage.poorest), stages[0])


def cell_bytes(pools: DevicePools) -> int:
    """Bytes of one of the tokens that the engine counts: in the pool of full attention, or in the first one where no layer sees every token."""
    full = [pool for pool in pools.pools if pool.kind == "full"] or list(pools.pools)
    return full[0].slot_bytes if full else 0


def pool_lines(pools: DevicePools, source: str) -> tuple[Line, ...]:
    """Each pool, what the pools allocate beside their slots, and the table of requests."""
    requests = pools.requests
    lines = [
        Line(
            pool.name,
            pool.slots * pool.slot_bytes,
            f"{source}: {pool.slots:,} {_SLOTS.get(pool.kind, 'tokens')} of {pool.slot_bytes:,} bytes",
        )
        for pool in pools.pools
    ]
    padding = sum(pool.padding_slots * pool.slot_bytes for pool in pools.pools)
    lines.append(Line("padding page", padding, source))
    lines.append(Line("request table", requests.table_bytes, f"{source}: {requests.rows:,} requests"))
    return tuple(lines)


_SLOTS = {"state": "requests", "draft_state": "requests"}
