# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one run did and where things are, in a few lines. Private to the collection, may change any time."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import gb_text, gib_text, ranks_text
from ansible_collections.blackwell.inference.plugins.plugin_utils.columns import COLUMNS

_REASONS = 3


@dataclass(frozen=True)
class Run:
    """One run of the loop. `readiness` and `verdict` are None if nothing was waited for, or verified; `seen` is what was compared with what is wanted."""

    host: str
    unit: str
    url: str
    served_model_name: str
    plan: Mapping[str, Any]
    seen: Mapping[str, Any]
    readiness: Mapping[str, Any] | None
    verdict: Mapping[str, Any] | None
    calibration: Mapping[str, Any]
    estimate_seconds: float
    installed: tuple[str, ...]
    key: bool
    page: str
    checked: bool = False  # check mode


def summary_lines(run: Run) -> list[str]:
    """At most seven lines: with what Ansible prints after its last task, a reader finds all of it in the last twelve."""
    return [
        f"{run.served_model_name} on {run.host}: {run.url}/v1 ({run.unit})",
        f"Plan: {plan_line(run.plan)}",
        textwrap.shorten(f"Change: {change_line(run)}", COLUMNS, placeholder=" …"),
        f"Start: {start_line(run)}",
        f"Verdict: {verdict_line(run, COLUMNS - len('Verdict: '))}",
        f"Ask it: {curl_line(run)}",
        f"Logs: journalctl --unit {run.unit}; page: {run.page}",
    ]


def plan_line(plan: Mapping[str, Any]) -> str:
    pool, concurrency, cache, gpu = (plan.get(name) or {} for name in ("pool", "concurrency", "host_cache", "gpu"))
    parts = [
        f"{pool['tokens']:,} tokens on each of {ranks_text(plan['ranks'])}"
        if plan["ranks"] > 1
        else f"{pool['tokens']:,} tokens",
        f"{concurrency['requests']:,} requests of {concurrency['request_tokens']:,} at once",
    ]
    if cache.get("enabled"):
        parts.append(f"host cache {gb_text(cache['bytes_total'])}")
    if gpu:
        parts.append(f"{gib_text(gpu['headroom_bytes'])} of a card free")
    return ", ".join(parts)


def change_line(run: Run) -> str:
    """What changed and why; in check mode what would."""
    restart = run.seen.get("restart") or {}
    running = (run.seen.get("process") or {}).get("running")
    parts = []
    if run.installed:
        parts.append(f"installed {' and '.join(run.installed)}")
    if run.seen.get("differing_files"):
        parts.append(f"{'written' if run.checked else 'wrote'} {', '.join(run.seen['differing_files'])}")
    if restart.get("required"):
        parts.append(f"{'restarted' if running else 'started'} because {_reasons(restart['reasons'])}")
    elif (run.seen.get("unit") or {}).get("unit_file_state") != "enabled":
        parts.append("enabled the unit at boot")
    if not parts and run.seen.get("differing_directories"):
        parts.append(f"put right {', '.join(run.seen['differing_directories'])}")
    if not parts:
        return "nothing changed"
    return f"{'this check would have ' if run.checked else ''}{', '.join(parts)}"


def _reasons(reasons: Sequence[Mapping[str, Any]]) -> str:
    """The first few; the task that says why the engine has to be started has told them all."""
    told = [reason["what"] for reason in reasons[:_REASONS]]
    more = len(reasons) - len(told)
    return "; ".join([*told, *([f"and {more} more"] if more else [])])


def start_line(run: Run) -> str:
    planned = f"about {run.estimate_seconds:.0f} s were planned"
    if (run.seen.get("restart") or {}).get("required"):
        if run.readiness is None:
            return planned
        return f"took {run.readiness['elapsed_seconds']:.0f} s, {planned}"
    taken = run.calibration.get("start_seconds")
    return f"none was needed; the last one took {taken:.0f} s" if taken else "none was needed"


def verdict_line(run: Run, columns: int) -> str:
    """What was skipped is named if the line holds it; the page names it anyway."""
    if run.verdict is None:
        return "none, because nothing was started" if run.checked else "none"
    checks = [check for level in run.verdict["levels"] for check in level["checks"]]
    skipped = [check["name"] for check in checks if check["outcome"] == "skipped"]
    passed = sum(check["outcome"] == "passed" for check in checks)
    outcome = f"{'passed' if run.verdict['passed'] else 'failed'}: {passed} checks"
    if not skipped:
        return outcome
    named = f"{outcome}, {len(skipped)} skipped ({', '.join(skipped)})"
    return named if len(named) <= columns else f"{outcome}, {len(skipped)} skipped"


def curl_line(run: Run) -> str:
    """A question that can be pasted into a shell on the host; a key is named and not shown."""
    body = json.dumps({"model": run.served_model_name, "messages": [{"role": "user", "content": "Hello"}]})
    key = ' --header "Authorization: Bearer $API_KEY"' if run.key else ""
    return f"curl {shlex.quote(f'{run.url}/v1/chat/completions')}{key} --json {shlex.quote(body)}"
