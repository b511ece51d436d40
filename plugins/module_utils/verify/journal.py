# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Level `journal`: what the engine allocated at this start, against the plan and against itself. Private to the collection, may change any time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from re import Pattern
from typing import Any

from ..core.units import gib_text
from ..sglang.start_log import StartJournal
from .device_memory import RESTART, SOURCE, check_device_pools, tokens_text
from .evidence import Evidence
from .host_pools import check_host_pools
from .planned import LOG_GIB_BYTES, Planned
from .verdict import FAILED, PASSED, Check, missing, near, on_cpu, same, skipped

_PP, _TP = re.compile(r"\bPP(\d+)\b"), re.compile(r"\bTP(\d+)\b")


@dataclass(frozen=True)
class JournalFacts:
    """`info` is what the server says of itself, empty where it does not answer."""

    planned: Planned
    start: StartJournal
    start_rotated: bool
    info: Mapping[str, Any]


def gather_journal(evidence: Evidence) -> JournalFacts:
    _answer, info = evidence.server_info
    return JournalFacts(evidence.question.planned, evidence.start.journal, evidence.start.rotated, info)


def check_journal(facts: JournalFacts) -> tuple[Check, ...]:
    planned, start = facts.planned, facts.start
    if facts.start_rotated:
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
        _tokens_of_server(facts),
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


def _tokens_of_server(facts: JournalFacts) -> Check:
    """A server swapped underneath says other figures than the journal of the unit's invocation."""
    name, answered = "max_total_num_tokens of the answering server", facts.info.get("max_total_num_tokens")
    seen = facts.start.totals.tokens if facts.start.totals else None
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
