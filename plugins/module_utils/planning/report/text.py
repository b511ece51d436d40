# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan for people as lines of text, for the terminal, the diff and the file. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.errors import FORCEABLE
from ...core.ledger import Line
from ...core.units import GIB, gb_text, gib_text, ranks_text
from .tables import Table, plan_tables


def report_lines(plan: Mapping[str, Any]) -> list[str]:
    """What, GiB, source; then what was decided, chosen, refused, forced and noted: of `MemoryPlan.as_dict()`."""
    lines = [headline(plan)]
    for table in plan_tables(plan):
        lines += _table_lines(table)
    lines += decided_lines(plan)
    lines += [choice_text(choice) for choice in plan.get("choices") or ()]
    return lines + refusal_lines(plan) + [f"Note: {note}" for note in plan.get("notes") or ()]


def headline(plan: Mapping[str, Any]) -> str:
    """What is served by what, for example `kimi-k2.5 on SGLang 0.5.9 (dialect 0.5.9), cuda, 8 ranks`."""
    return f"{model_name(plan)} on {engine_text(plan)}"


def model_name(plan: Mapping[str, Any]) -> str:
    return str((plan.get("model") or {}).get("name", "a model without a name"))


def engine_text(plan: Mapping[str, Any]) -> str:
    engine, ranks = plan.get("engine") or {}, plan["ranks"]
    version = f"{engine.get('version', '?')} (dialect {engine.get('dialect', '?')})"
    return f"SGLang {version}, {plan['device']}, {ranks_text(ranks)}"


def choice_text(choice: Mapping[str, Any]) -> str:
    """One value that was decided: by whom, why, and what it costs."""
    costs = f"; costs: {choice['costs']}" if choice.get("costs") else ""
    return f"Decided: {choice['name']} {choice['value']} ({choice['by']}, {choice['why']}){costs}"


def refusal_lines(plan: Mapping[str, Any]) -> list[str]:
    """The refusals that stand, then those that were forced and what forcing them means."""
    refusals, forced = plan.get("refusals") or (), plan.get("forced") or ()
    standing = [one for one in refusals if one["name"] not in forced]
    overridden = [one for one in refusals if one["name"] in forced]
    return [f"Refused ({one['name']}): {one['message']}" for one in standing] + [
        f"Forced ({one['name']}): {one['message']} Forcing it means: {FORCEABLE[one['name']]}." for one in overridden
    ]


def decided_lines(plan: Mapping[str, Any]) -> list[str]:
    """The pools, the host and the start in one sentence each."""
    pool, cache, concurrency, start = plan["pool"], plan["host_cache"], plan["concurrency"], plan["start"]
    lines = [
        f"Pool: {pool['tokens']:,} tokens on each rank, enough for {concurrency['requests']:,} requests "
        f"of {concurrency['request_tokens']:,} tokens at once"
    ]
    if cache["enabled"]:
        how = f"hicache_size {cache['size_gb']}" if cache["size_gb"] else f"hicache_ratio {cache['ratio']:g}"
        lines.append(
            f"Host cache: {how}: {cache['tokens']:,} tokens, {gb_text(cache['bytes_per_rank'])} on each rank, {gb_text(cache['bytes_total'])} in all"
        )
    return [
        *lines,
        f"Host after the start: {gib_text(plan['host']['available_after_start_bytes'])} available{free_text(plan['host'])}",
        f"Start: about {start['estimate_seconds']} s (weights {start['load_seconds']}, pinning {start['pin_seconds']}, the rest {start['other_seconds']})",
    ]


def free_text(host: Mapping[str, Any]) -> str:
    """What `free -h` will show, where the plan says it."""
    shown = host.get("free_h")
    if not shown:
        return ""
    return (
        f"; free -h will show total {shown['total_gib']:g}Gi, used {shown['used_gib']:g}Gi, shared {shown['shared_gib']:g}Gi, "
        f"available {shown['available_gib']:g}Gi, give or take {shown['tolerance_gib']:g}Gi"
    )


def _table_lines(table: Table) -> list[str]:
    return [
        f"{table.title:<46} {'GiB':>9}  source",
        _row("", table.capacity),
        *(_row("- ", line) for line in table.lines),
        _row("= ", table.result),
    ]


def _row(sign: str, line: Line) -> str:
    return f"  {sign + line.name:<44} {line.size_bytes / GIB:>9.2f}  {line.source}"
