# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Level `journal`: what the engine allocated at this start, against the plan and against itself. Private to the collection, may change any time.

Of the GPU: tokens, pools, and what stands beside the KV cache.
"""

from __future__ import annotations

import re
from re import Pattern

from ..core.units import gib_text
from ..sglang.start_log import Rank, StartJournal
from .evidence import Evidence
from .host_pools import check_host_pools
from .planned import LOG_GIB_BYTES, Planned, Tolerance
from .verdict import FAILED, PASSED, Check, missing, near, on_cpu, same, skipped

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
    """tokens = (free after load - free before load * (1 - fraction) - reserve) // cell, over the poorest ranks. SGLang 0.4.9 to 0.5.23."""
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

_PP, _TP = re.compile(r"\bPP(\d+)\b"), re.compile(r"\bTP(\d+)\b")


def check_journal(evidence: Evidence) -> tuple[Check, ...]:
    planned, start = evidence.planned, evidence.start
    if evidence.start_rotated:
        return (
            skipped(
                "start",
                "the lines of this start",
                None,
                SOURCE,
                "the journal keeps later lines of this invocation, but no longer those of its start",
            ),
        )
    return (
        _fired_up(start),
        _ranks(planned, start),
        _tokens(planned, start),
        _tokens_of_server(evidence),
        *check_device_pools(planned, start),
        _graphs(planned, start),
        _free_after_graphs(planned, start),
        *check_host_pools(planned, start),
    )


def _fired_up(start: StartJournal) -> Check:
    advice = "The engine says so when its warm-up request was answered; wait until the server is ready, then verify."
    return same("fired-up line", "present", "present" if start.fired_up else "missing", SOURCE, advice)


def _ranks(planned: Planned, start: StartJournal) -> Check:
    """Every rank logs its load; one that is missing runs elsewhere or died."""
    loaded = [rank.name for rank in start.ranks if rank.free_after_load_bytes is not None]
    seen = sorted((_number(_PP, name), _number(_TP, name)) for name in loaded)
    expected = [(stage, rank) for stage in range(planned.ranks // planned.tp) for rank in range(planned.tp)]
    staged = planned.ranks > planned.tp

    def names(ranks: list[tuple[int, int]]) -> str:
        return ", ".join(f"PP{stage} TP{rank}" if staged else f"TP{rank}" for stage, rank in ranks)

    return same("ranks", names(expected), names(seen), SOURCE, RESTART)


def _number(tag: Pattern[str], name: str) -> int:
    """A tag is left out where there is one of a kind only."""
    found = tag.search(name)
    return int(found.group(1)) if found else 0


def _tokens(planned: Planned, start: StartJournal) -> Check:
    advice = "Other processes may hold GPU memory, or the plan needs this start's calibration; compare the logged free memory with the plan's lines."
    seen = start.totals.tokens if start.totals else None
    return near("max_total_num_tokens", planned.tokens, seen, SOURCE, planned.token_tolerance(), advice, tokens_text)


def _tokens_of_server(evidence: Evidence) -> Check:
    """A server swapped underneath says other figures than the journal of the unit's invocation."""
    name, answered = "max_total_num_tokens of the answering server", evidence.info.get("max_total_num_tokens")
    seen = evidence.start.totals.tokens if evidence.start.totals else None
    if answered is None:
        return skipped(name, seen, None, SOURCE, "the server info was not read")
    return same(
        name,
        seen,
        answered,
        "server info",
        "Another server answers than the one whose journal this is; see who listens on the port.",
        tokens_text,
    )


def _graphs(planned: Planned, start: StartJournal) -> Check:
    name, expected = "graph memory", planned.graph_bytes
    if planned.on_cpu:
        return on_cpu(name, SOURCE)
    seen = max((rank.graph_bytes for rank in start.ranks if rank.graph_bytes is not None), default=None)
    if not expected and seen is None:
        return skipped(name, 0, None, SOURCE, "the plan captures no graphs")
    return near(
        name, expected, seen, SOURCE, planned.graph_tolerance(), "Plan again with this start's calibration.", gib_text
    )


def _free_after_graphs(planned: Planned, start: StartJournal) -> Check:
    """GPU memory that is left for activations: the headroom that was planned, which planning holds against the operator's wish. More of it is no fault."""
    name, seen = "GPU memory free after the start", start.free_after_graphs_bytes
    if planned.on_cpu:
        return on_cpu(name, SOURCE)
    tolerance = planned.graph_tolerance()
    least = int(planned.gpu["headroom_bytes"]) - tolerance.size
    if seen is None:
        return missing(name, least, SOURCE, f"at least {gib_text(least)} was expected. {RESTART}")
    if seen + LOG_GIB_BYTES >= least:
        return Check(
            name,
            PASSED,
            least,
            seen,
            SOURCE,
            f"{SOURCE} shows {name} {gib_text(seen)}; at least {gib_text(least)} was expected.",
        )
    message = (
        f"{SOURCE} shows {name} {gib_text(seen)}; at least {gib_text(least)} was expected, which is the planned headroom less {gib_text(tolerance.size)} "
        f"({tolerance.reason}). The first large prefill may run out of memory: lower mem_fraction_static, cuda_graph_max_bs or max_running_requests."
    )
    return Check(name, FAILED, least, seen, SOURCE, message)
