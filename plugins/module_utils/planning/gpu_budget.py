# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPU memory of one rank, the poorest. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ansible_collections.blackwell.inference.plugins.module_utils.core.ledger import Ledger, Line
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB
from ansible_collections.blackwell.inference.plugins.module_utils.planning.requests import RunningRequests


@dataclass(frozen=True)
class GpuBudget:
    """What the engine will allocate on a card at this fraction. `profiled_tokens` is before max_total_tokens and page alignment."""

    ledger: Ledger
    base_bytes: int
    weights_bytes: int
    fraction: float
    profiled_tokens: int
    tokens: int
    cell_bytes: int
    requests: RunningRequests
    graph_batch: int

    @property
    def headroom_bytes(self) -> int:
        """Free after graph capture."""
        return self.ledger.left_bytes

    def as_dict(self) -> dict[str, Any]:
        return {
            "base_bytes": self.base_bytes,
            "tokens": self.tokens,
            "cell_bytes": self.cell_bytes,
            "kv_bytes": self.tokens * self.cell_bytes,
            "headroom_bytes": self.headroom_bytes,
            "mem_fraction_static": self.fraction,
            "max_running_requests": self.requests.limit,
            "graph_batch": self.graph_batch,
            "capacity": self.ledger.capacity.as_dict(),
            "lines": [line.as_dict() for line in self.ledger.lines],
        }


def profiled_tokens(base_bytes: int, weights_bytes: int, reserve_bytes: int, fraction: float, cell_bytes: int) -> int:
    """Tokens of the device pool before alignment, 0 where the weights leave nothing.

    The engine reckons in floats of GiB (0.5.9 to 0.5.23); the same steps in the same order give the same last token.
    """
    free_before, free_after = base_bytes / GIB, (base_bytes - weights_bytes) / GIB
    rest = free_after - free_before * (1 - fraction) - reserve_bytes / GIB
    return max(0, int(rest * GIB) // cell_bytes)


def aligned(tokens: int, page_size: int) -> int:
    return tokens // page_size * page_size


def pool_lines(
    tokens: int, page_size: int, cell_bytes: int, requests: RunningRequests, source: str
) -> tuple[Line, ...]:
    """The KV cache, the padding page that every pool has in front, and the table of requests."""
    return (
        Line("KV cache", tokens * cell_bytes, f"{source}: {tokens:,} tokens of {cell_bytes:,} bytes"),
        Line("padding page", page_size * cell_bytes, source),
        Line("request table", requests.table_bytes, f"{source}: {requests.rows:,} requests"),
    )
