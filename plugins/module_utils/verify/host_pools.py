# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host pools that the journal names, part of level `journal`. Private to the collection, may change any time."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..core.units import gb_text
from ..sglang.start_log import LoggedHostPool, StartJournal
from .planned import LOG_GB_BYTES, Planned, Tolerance
from .verdict import Check, near, same, skipped

SOURCE = "journal"
ADVICE = "The host cache is not what was planned: check hicache_size, hicache_ratio and page_size, and what else takes host memory."
_TP = re.compile(r"\bTP(\d+)\b")
_LOGGED = ("full", "sliding", "draft")
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
    if planned.ranks > planned.tp:
        return [skipped("host pools", None, None, SOURCE, "each pipeline stage has layers of its own")]
    checks = _side_pools(planned, start)
    for index, pool in enumerate(_planned_pools(planned, start)):
        seen = _pool_of_ranks(planned, start, index, pool.alone)
        checks.extend(
            near(
                f"{pool.name} of {rank}",
                pool.size_bytes,
                logged.size_bytes if logged else None,
                SOURCE,
                pool.tolerance,
                ADVICE,
                gb_text,
            )
            for rank, logged in seen
        )
        checks.extend(
            same(f"{pool.name} tokens of {rank}", pool.tokens, logged.tokens, SOURCE, ADVICE)
            for rank, logged in seen
            if index == 0 and logged and logged.tokens is not None
        )
    return checks


def _side_pools(planned: Planned, start: StartJournal) -> list[Check]:
    """States and index keys are logged in words of their own; where a ratio decides, they are as near to the plan as the tokens are."""
    beside = sum(int(row["bytes"]) for row in planned.host_cache.get("pools") or () if row["kind"] not in _LOGGED)
    if not beside:
        return []
    share = planned.token_tolerance().size / max(1, planned.tokens) if planned.argument("hicache-ratio") else 0.0
    tolerance = Tolerance(int(beside * share) + 2 * LOG_GB_BYTES, _ROUNDED.reason)
    return [
        near(
            f"side pools in host memory of {rank.name}",
            beside,
            sum(pool.size_bytes for pool in rank.host_side_pools),
            SOURCE,
            tolerance,
            ADVICE,
            gb_text,
        )
        for rank in start.ranks
    ]


@dataclass(frozen=True)
class _Expected:
    """One pool that the log names, on one rank. `alone`: the plan has no other of them."""

    name: str
    tokens: int
    size_bytes: int
    tolerance: Tolerance
    alone: bool


def _planned_pools(planned: Planned, start: StartJournal) -> list[_Expected]:
    """In the order of the log: the target's pool, a sliding-window one, the draft's. Pools of states and of index keys are logged in other words.

    The first is known to the token; what follows it is as much larger or smaller as that one is, in whole pages of its own.
    """
    cache = planned.host_cache
    rows = [row for row in cache.get("pools") or () if row["kind"] in _LOGGED]
    if not rows:
        rows = [{"name": "", "slots": cache["tokens"], "bytes": cache["bytes_per_rank"]}]
    tokens = _expected_tokens(planned, start)
    first = int(rows[0]["bytes"]) // int(rows[0]["slots"]) * tokens
    expected = [_Expected("host pool", tokens, first, _ROUNDED, len(rows) == 1)]
    for row in rows[1:]:
        size, slots = int(row["bytes"]), int(row["slots"])
        pages = 2 * planned.page_size * max(1, slots // max(1, planned.tokens)) * (size // slots)
        scaled = size * tokens // int(rows[0]["slots"])
        tolerance = Tolerance(LOG_GB_BYTES + pages, "it follows the first pool in whole pages")
        expected.append(_Expected(f"host pool ({row['name']})", slots, scaled, tolerance, False))
    return expected


def _expected_tokens(planned: Planned, start: StartJournal) -> int:
    """With a size: the planned tokens. With a ratio: what the ratio makes of the tokens that this start really has, and one page more."""
    ratio = planned.argument("hicache-ratio")
    if planned.argument("hicache-size") or ratio is None or start.totals is None:
        return int(planned.host_cache["tokens"])
    return (int(start.totals.tokens * float(ratio)) // planned.page_size + 1) * planned.page_size


def _pool_of_ranks(
    planned: Planned, start: StartJournal, index: int, alone: bool
) -> list[tuple[str, LoggedHostPool | None]]:
    """The pool that each rank logged at this place, or its largest one. Ranks that said nothing of a pool are in the list too."""
    known = {f"TP{match.group(1)}": rank for rank in start.ranks for match in _TP.finditer(rank.name)}
    found: list[tuple[str, LoggedHostPool | None]] = []
    for name in (f"TP{number}" for number in range(planned.ranks)):
        rank = known.get(name)
        pools = () if rank is None else rank.host_pools
        largest = None if rank is None else rank.host_pool
        found.append((name, largest if alone else next(iter(pools[index : index + 1]), None)))
    return found
