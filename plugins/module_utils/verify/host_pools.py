# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host pools that the journal names, part of level `journal`. Private to the collection, may change any time."""

from __future__ import annotations

import re

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import gb_text
from ansible_collections.blackwell.inference.plugins.module_utils.engine.journal import StartJournal
from ansible_collections.blackwell.inference.plugins.module_utils.verify.planned import Planned
from ansible_collections.blackwell.inference.plugins.module_utils.verify.tolerances import LOG_GB_BYTES, Tolerance
from ansible_collections.blackwell.inference.plugins.module_utils.verify.verdict import Check, near, same

SOURCE = "journal"
_TP = re.compile(r"\bTP(\d+)\b")
_ROUNDED = Tolerance(LOG_GB_BYTES, "the log prints GB with two decimals")


def check_host_pools(planned: Planned, start: StartJournal) -> list[Check]:
    """Every rank pins a whole pool of its own; its size follows from hicache_size, or from the device's tokens and hicache_ratio."""
    cache = planned.host_cache
    if not cache.get("enabled"):
        pools = sum(len(rank.host_pools_bytes) for rank in start.ranks)
        return [
            same(
                "host pools",
                0,
                pools,
                SOURCE,
                "A host cache was allocated that nobody planned; deploy again, which restarts the server.",
            )
        ]
    expected = _host_pool_bytes(planned, start)
    advice = "The host cache is not what was planned: check hicache_size, hicache_ratio and page_size, and what else takes host memory."
    return [
        near(f"host pool of {name}", expected, seen, SOURCE, _ROUNDED, advice, gb_text)
        for name, seen in _pool_of_ranks(planned, start)
    ]


def _pool_of_ranks(planned: Planned, start: StartJournal) -> list[tuple[str, int | None]]:
    """Ranks that said nothing of a pool are in the list too."""
    known = {f"TP{match.group(1)}": rank.host_pool_bytes for rank in start.ranks for match in _TP.finditer(rank.name)}
    names = [f"TP{number}" for number in range(planned.ranks)]
    return [(name, known.get(name)) for name in names]


def _host_pool_bytes(planned: Planned, start: StartJournal) -> int:
    cache, ratio = planned.host_cache, planned.argument("hicache-ratio")
    if planned.argument("hicache-size") or ratio is None or start.totals is None:
        return int(cache["bytes_per_rank"])
    cell = int(cache["bytes_per_rank"]) // int(cache["tokens"])
    return (int(start.totals.tokens * float(ratio)) // planned.page_size + 1) * planned.page_size * cell
