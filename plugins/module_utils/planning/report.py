# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan for people: one table, used by the terminal, the diff and the file. Private to the collection, may change any time."""

from __future__ import annotations

from ansible_collections.blackwell.inference.plugins.module_utils.core.ledger import Ledger
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB, gb_text, gib_text
from ansible_collections.blackwell.inference.plugins.module_utils.planning.plan import MemoryPlan
from ansible_collections.blackwell.inference.plugins.module_utils.planning.refusal import FORCEABLE


def report_lines(plan: MemoryPlan) -> list[str]:
    """What, GiB, source; then what was decided, refused, forced and noted."""
    request, ranks = plan.request, plan.request.serving.tp
    lines = [
        f"{request.model.name} on SGLang {request.rules.engine_version} (dialect {request.dialect}), "
        f"{request.serving.device}, {ranks} rank{'s' if ranks > 1 else ''}"
    ]
    if plan.gpu is not None:
        wished = f"headroom; {request.serving.headroom_gib:.2f} GiB wished for"
        lines += _table(
            f"GPU memory of each rank at fraction {plan.gpu.fraction:g}",
            plan.gpu.ledger,
            ("free after graph capture", plan.gpu.headroom_bytes, wished),
        )
    lines += _table(
        "Host memory",
        plan.host.ledger,
        ("left", plan.host.ledger.left_bytes, f"{gib_text(plan.host.reserve_bytes)} stay untouched"),
    )
    lines += _decided(plan)
    lines += [
        f"Refused ({refusal.name}): {refusal.message}" for refusal in plan.refusals if refusal.name not in plan.forced
    ]
    forced = [refusal for refusal in plan.refusals if refusal.name in plan.forced]
    lines += [f"Forced ({one.name}): {one.message} Forcing it means: {FORCEABLE[one.name]}." for one in forced]
    return lines + [f"Note: {note}" for note in plan.notes]


def _row(what: str, size_bytes: int, source: str) -> str:
    return f"  {what:<44} {size_bytes / GIB:>9.2f}  {source}"


def _table(title: str, ledger: Ledger, result: tuple[str, int, str]) -> list[str]:
    lines = [
        f"{title:<46} {'GiB':>9}  source",
        _row(ledger.capacity.name, ledger.capacity.size_bytes, ledger.capacity.source),
    ]
    lines += [_row(f"- {line.name}", line.size_bytes, line.source) for line in ledger.lines]
    return [*lines, _row(f"= {result[0]}", result[1], result[2])]


def _decided(plan: MemoryPlan) -> list[str]:
    serving, start, pool = plan.request.serving, plan.start, plan.pool
    lines = [
        f"Pool: {plan.tokens:,} tokens on each rank, enough for {plan.concurrent_requests:,} requests of {serving.request_tokens:,} tokens at once"
    ]
    if pool is not None:
        how = f"hicache_size {pool.size_gb}" if pool.size_gb else f"hicache_ratio {pool.ratio:g}"
        lines.append(
            f"Host cache: {how}: {pool.tokens:,} tokens, {gb_text(pool.bytes_per_rank)} on each rank, {gb_text(pool.bytes_per_rank * serving.tp)} in all"
        )
    lines.append(f"Host after the start: {gib_text(plan.host.available_after_start_bytes)} available")
    lines.append(
        f"Start: about {start.estimate_seconds} s (weights {start.load_seconds}, pinning {start.pin_seconds}, the rest {start.other_seconds})"
    )
    return lines
