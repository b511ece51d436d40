# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The device pools that the journal names, part of level `journal`. Private to the collection, may change any time."""

from __future__ import annotations

from ..core.units import gib_text
from ..sglang.start_log import Rank, StartJournal
from .planned import LOG_GIB_BYTES, Planned, Tolerance
from .verdict import Check, missing, near, on_cpu, same, skipped

SOURCE = "journal"
RESTART = "The journal and the plan speak of different starts; deploy again, which restarts the server."
_OTHER_KIND = "The KV cache has another type or geometry than was planned; check kv_cache_dtype and the model."
_OTHER_POOLS = "The pools beside the KV cache are not those that were planned; check the flags of speculation, sliding windows and states."


def check_device_pools(planned: Planned, start: StartJournal) -> list[Check]:
    return [
        *_tokens_of_ranks(planned, start),
        _tokens_by_formula(planned, start),
        *_kv_size(planned, start),
        *_other_pools(planned, start),
    ]


def tokens_text(tokens: int | None) -> str:
    return "nothing" if tokens is None else f"{tokens} tokens"


def _tokens_of_ranks(planned: Planned, start: StartJournal) -> list[Check]:
    """The pool of every rank has the tokens of the sum-up line, which only the first rank writes."""
    if start.totals is None:
        return []
    if planned.kinds.isdisjoint({"full"}):
        return [skipped("pool tokens", None, start.totals.tokens, SOURCE, "no layer of this model sees every token")]
    return [
        same(f"pool tokens of {rank.name}", start.totals.tokens, rank.pool.tokens, SOURCE, RESTART, tokens_text)
        if rank.pool
        else missing(f"pool of {rank.name}", None, SOURCE, RESTART)
        for rank in start.ranks
    ]


def _tokens_by_formula(planned: Planned, start: StartJournal) -> Check:
    """tokens = (free after load - free before load * (1 - fraction) - reserve) // cell, over the poorest ranks. SGLang since 0.4.9."""
    name = "tokens from the logged free memory"
    if planned.on_cpu:
        return on_cpu(name, SOURCE)
    if planned.kinds != {"full"} or planned.ranks != planned.tp:
        return skipped(name, None, None, SOURCE, "several pools share the memory: each is compared with the plan")
    before = min(
        (rank.free_before_load_bytes for rank in start.ranks if rank.free_before_load_bytes is not None), default=None
    )
    after = min(
        (rank.free_after_load_bytes for rank in start.ranks if rank.free_after_load_bytes is not None), default=None
    )
    if before is None or after is None or start.totals is None:
        return missing(
            name, None, SOURCE, "free memory before and after the load, and the tokens, were expected. " + RESTART
        )
    slack = 1 - float(planned.gpu["mem_fraction_static"])
    reserve = max((rank.reserve_bytes for rank in start.ranks), default=0)
    cell, page = planned.cell_bytes, planned.page_size
    expected = int(after - before * slack - reserve) // cell // page * page
    cap = planned.argument("max-total-tokens")
    expected = min(expected, int(cap) // page * page) if cap is not None else expected
    rounded = LOG_GIB_BYTES * (1 + slack + (1 if reserve else 0))
    tolerance = Tolerance(int(rounded / cell) + page + 1, "the log prints free memory with two decimals")
    advice = "The pool does not follow from the memory that was free: a draft model, another fraction or another KV type is in use than was planned."
    return near(name, expected, start.totals.tokens, SOURCE, tolerance, advice, tokens_text)


def _kv_size(planned: Planned, start: StartJournal) -> list[Check]:
    """Size = tokens * cell, index keys included, and one page of padding. A draft's pool stands beside it with figures of its own."""
    cell, stages = planned.logged_cell_bytes, planned.ranks // planned.tp
    if stages > 1:
        return [skipped("KV size", None, None, SOURCE, "each pipeline stage has layers of its own")]
    checks = []
    for rank in start.ranks:
        if rank.pool is not None:
            tolerance = Tolerance(
                rank.pool.figures * LOG_GIB_BYTES + planned.page_size * cell,
                "the log prints sizes with two decimals; one page is padding",
            )
            size = rank.pool.size_bytes
            checks.append(
                near(f"KV size of {rank.name}", rank.pool.tokens * cell, size, SOURCE, tolerance, _OTHER_KIND, gib_text)
            )
    return checks


def _other_pools(planned: Planned, start: StartJournal) -> list[Check]:
    """Sliding layers, states and drafts have pools with slots of their own; they share the memory that was free, and so its uncertainty."""
    checks = []
    for kind, slots_of in _SLOTS.items():
        expected = planned.slots(kind)
        if expected is None:
            continue
        share = planned.token_tolerance()
        tolerance = Tolerance(max(planned.page_size, share.size * expected // max(1, planned.tokens)), share.reason)
        checks += [
            near(f"{kind} pool of {rank.name}", expected, slots_of(rank), SOURCE, tolerance, _OTHER_POOLS, _slots_text)
            for rank in start.ranks
        ]
    return checks


def _slots_text(slots: int | None) -> str:
    return "nothing" if slots is None else f"{slots} slots"


def _sliding_slots(rank: Rank) -> int | None:
    return rank.sliding.sliding_tokens if rank.sliding else None


def _state_slots(rank: Rank) -> int | None:
    return rank.states.slots if rank.states else None


def _draft_slots(rank: Rank) -> int | None:
    return max((pool.tokens for pool in rank.draft_pools), default=None)


_SLOTS = {"sliding": _sliding_slots, "state": _state_slots, "draft": _draft_slots}
