# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host pools that the journal names, part of level `journal`. Private to the collection, may change any time."""

from __future__ import annotations

import re

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import gb_text
from ansible_collections.blackwell.inference.plugins.module_utils.engine.journal import HostPool, StartJournal
from ansible_collections.blackwell.inference.plugins.module_utils.verify.planned import Planned
from ansible_collections.blackwell.inference.plugins.module_utils.verify.tolerances import LOG_GB_BYTES, Tolerance
from ansible_collections.blackwell.inference.plugins.module_utils.verify.verdict import Check, near, same

SOURCE = "journal"
ADVICE = "The host cache is not what was planned: check hicache_size, hicache_ratio and page_size, and what else takes host memory."
_TP = re.compile(r"\bTP(\d+)\b")
_ROUNDED = Tolerance(LOG_GB_BYTES, "the log prints GB with two decimals")


def check_host_pools(planned: Planned, start: StartJournal) -> list[Check]:
    """Every rank pins a whole pool of its own; its size follows from hicache_size, or from the device's tokens and hicache_ratio."""
    if not planned.host_cache.get("enabled"):
        pools = sum(len(rank.host_pools) for rank in start.ranks)
        return [
            same(
                "host pools",
                0,
                pools,
                SOURCE,
                "A host cache was allocated that nobody planned; deploy again, which restarts the server.",
            )
        ]
    found = _pool_of_ranks(planned, start)
    expected = expected_bytes(planned, start)
    checks = [
        near(f"host pool of {name}", expected, pool.size_bytes if pool else None, SOURCE, _ROUNDED, ADVICE, gb_text)
        for name, pool in found
    ]
    tokens = _expected_tokens(planned, start)
    checks.extend(
        same(f"host pool tokens of {name}", tokens, pool.tokens, SOURCE, ADVICE)
        for name, pool in found
        if pool and pool.tokens is not None
    )
    return checks


def expected_bytes(planned: Planned, start: StartJournal) -> int:
    cell = int(planned.host_cache["bytes_per_rank"]) // int(planned.host_cache["tokens"])
    return _expected_tokens(planned, start) * cell


def _expected_tokens(planned: Planned, start: StartJournal) -> int:
    """With a size: the planned tokens. With a ratio: what the ratio makes of the tokens that this start really has, and one page more."""
    ratio = planned.argument("hicache-ratio")
    if planned.argument("hicache-size") or ratio is None or start.totals is None:
        return int(planned.host_cache["tokens"])
    return (int(start.totals.tokens * float(ratio)) // planned.page_size + 1) * planned.page_size


def _pool_of_ranks(planned: Planned, start: StartJournal) -> list[tuple[str, HostPool | None]]:
    """Ranks that said nothing of a pool are in the list too."""
    known = {f"TP{match.group(1)}": rank.host_pool for rank in start.ranks for match in _TP.finditer(rank.name)}
    names = [f"TP{number}" for number in range(planned.ranks)]
    return [(name, known.get(name)) for name in names]
