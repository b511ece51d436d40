# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hierarchical cache in host memory: SGLang's L2 pool, one per rank. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GB


@dataclass(frozen=True)
class HostPool:
    """One rank's pool. `size_gb` or `ratio` is what the engine is told; a size beats a ratio."""

    tokens: int
    cell_bytes: int
    page_size: int
    size_gb: int | None
    ratio: float | None

    @property
    def bytes_per_rank(self) -> int:
        return self.tokens * self.cell_bytes


def host_pool(
    device_tokens: int, cell_bytes: int, page_size: int, size_gb: int | None, ratio: float | None
) -> HostPool:
    """The pool as the engine sizes it: from the size in GB of 10^9, else from the device pool's tokens; then one page more.

    SGLang 0.5.6 to 0.5.23, MLA included: every rank keeps a whole copy. 159,277 tokens of Kimi-K2.5 at ratio 4.0: 637,109 tokens, 44.77 GB.
    """
    tokens = int(size_gb * 1e9 // cell_bytes) if size_gb else int(device_tokens * (ratio or 0.0))
    pages = tokens // page_size + 1
    return HostPool(pages * page_size, cell_bytes, page_size, size_gb, None if size_gb else ratio)


def largest_size_gb(budget_per_rank_bytes: int, cell_bytes: int, page_size: int) -> int:
    """The largest hicache_size, in GB per rank, whose pool stays within the budget; 0 when none does."""
    size_gb = max(0, budget_per_rank_bytes // GB)
    while size_gb > 0 and host_pool(0, cell_bytes, page_size, size_gb, None).bytes_per_rank > budget_per_rank_bytes:
        size_gb -= 1
    return size_gb
