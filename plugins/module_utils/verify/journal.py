# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Level `journal`: what the engine allocated at this start, against the plan and against itself. Private to the collection, may change any time."""

from __future__ import annotations

import re

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import gib_text
from ansible_collections.blackwell.inference.plugins.module_utils.engine.journal import StartJournal
from ansible_collections.blackwell.inference.plugins.module_utils.verify.evidence import Evidence
from ansible_collections.blackwell.inference.plugins.module_utils.verify.host_pools import check_host_pools
from ansible_collections.blackwell.inference.plugins.module_utils.verify.planned import Planned
from ansible_collections.blackwell.inference.plugins.module_utils.verify.tolerances import (
    LOG_GIB_BYTES,
    Tolerance,
)
from ansible_collections.blackwell.inference.plugins.module_utils.verify.verdict import (
    FAILED,
    PASSED,
    Check,
    missing,
    near,
    on_cpu,
    same,
    skipped,
)

SOURCE = "journal"
RESTART = "The journal and the plan speak of different starts; deploy again, which restarts the server."
_TP = re.compile(r"\bTP(\d+)\b")


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
        *_tokens_of_ranks(start),
        _tokens_of_server(evidence),
        _tokens_by_formula(planned, start),
        *_kv_size(planned, start),
        _graphs(planned, start),
        _free_after_graphs(planned, start),
        *check_host_pools(planned, start),
    )


def _fired_up(start: StartJournal) -> Check:
    advice = "The engine says so when its warm-up request was answered; wait until the server is ready, then verify."
    return same("fired-up line", "present", "present" if start.fired_up else "missing", SOURCE, advice)


def _ranks(planned: Planned, start: StartJournal) -> Check:
    """Every rank logs its load; one that is missing runs elsewhere or died."""
    loaded = {rank.name for rank in start.ranks if rank.free_after_load_bytes is not None}
    numbers = sorted(int(match.group(1)) for match in map(_TP.search, loaded) if match)
    expected = [f"TP{number}" for number in range(planned.ranks)]
    return same("ranks", expected, [f"TP{number}" for number in numbers], SOURCE, RESTART, ", ".join)


def _tokens(planned: Planned, start: StartJournal) -> Check:
    advice = "Other processes may hold GPU memory, or the plan needs this start's calibration; compare the logged free memory with the plan's lines."
    seen = start.totals.tokens if start.totals else None
    return near("max_total_num_tokens", planned.tokens, seen, SOURCE, planned.token_tolerance(), advice, _tokens_text)


def _tokens_of_ranks(start: StartJournal) -> list[Check]:
    """The pool of every rank has the tokens of the sum-up line, which only the first rank writes."""
    if start.totals is None:
        return []
    return [
        same(f"pool tokens of {rank.name}", start.totals.tokens, rank.pool.tokens, SOURCE, RESTART, _tokens_text)
        if rank.pool
        else missing(f"pool of {rank.name}", None, SOURCE, RESTART)
        for rank in start.ranks
    ]


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
        _tokens_text,
    )


def _tokens_by_formula(planned: Planned, start: StartJournal) -> Check:
    """tokens = (free after load - free before load * (1 - fraction) - reserve) // cell, over the poorest ranks. SGLang 0.4.9 to 0.5.23."""
    name = "tokens from the logged free memory"
    if planned.on_cpu:
        return on_cpu(name, SOURCE)
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
    return near(name, expected, start.totals.tokens, SOURCE, tolerance, advice, _tokens_text)


def _kv_size(planned: Planned, start: StartJournal) -> list[Check]:
    """Size = tokens * cell, and one page of padding. The target's pool is the largest: a draft's stands beside it with figures of its own."""
    checks = []
    for rank in start.ranks:
        if rank.pool is not None:
            expected = rank.pool.tokens * planned.cell_bytes
            tolerance = Tolerance(
                rank.pool.figures * LOG_GIB_BYTES + planned.page_size * planned.cell_bytes,
                "the log prints sizes with two decimals; one page is padding",
            )
            advice = "The KV cache has another type or geometry than was planned; check kv_cache_dtype and the model."
            checks.append(
                near(f"KV size of {rank.name}", expected, rank.pool.size_bytes, SOURCE, tolerance, advice, gib_text)
            )
    return checks


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


def _tokens_text(tokens: int | None) -> str:
    return "nothing" if tokens is None else f"{tokens} tokens"
