# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan as people read it between the lines of a play. Private to the collection, may change any time.

It is shorter than the plan that is kept: rows that would read 0.00, and settings that nobody chose, are left to the page.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from ansible_collections.blackwell.inference.plugins.module_utils.core.ledger import Line
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB
from ansible_collections.blackwell.inference.plugins.module_utils.planning.report.tables import Table, plan_tables
from ansible_collections.blackwell.inference.plugins.module_utils.planning.report.text import decided_lines, headline
from ansible_collections.blackwell.inference.plugins.plugin_utils.columns import COLUMNS, wrapped
from ansible_collections.blackwell.inference.plugins.plugin_utils.last_start import last_start_seconds

_NAME = 44
_SOURCE_AT = _NAME + 14
_LEAST_SHOWN_BYTES = GIB // 200
"""What would read 0.00 GiB."""


def plan_lines(plan: Mapping[str, Any], calibration: Mapping[str, Any], unchanged: bool = False) -> list[str]:
    """The plan in at most 100 columns, with what the last start took. One that is the same as in the last run is told without its tables."""
    lines = [headline(plan)]
    if not unchanged:
        for table in plan_tables(plan):
            lines += _table_lines(table)
    for sentence in decided_lines(plan):
        lines += wrapped(sentence)
    if (taken := last_start_seconds(plan, calibration)) is not None:
        lines[-1] += f"; the last one took {taken:.0f} s"
    if unchanged:
        return [*lines, "The plan is the one of the last run; its tables are in plan.txt and plan.html on the host."]
    for sentence in (*_chosen(plan), *_forced(plan), *(f"Note: {note}" for note in plan.get("notes") or ())):
        lines += wrapped(sentence)
    return lines


def _table_lines(table: Table) -> list[str]:
    shown = [line for line in table.lines if abs(line.size_bytes) >= _LEAST_SHOWN_BYTES]
    lines = [f"{table.title:<{_NAME + 2}} {'GiB':>9}  source", *_row("", table.capacity)]
    for line in shown:
        lines += _row("- ", line)
    return lines + _row("= ", table.result)


def _row(sign: str, line: Line) -> list[str]:
    name = textwrap.shorten(sign + line.name, _NAME, placeholder=" …")
    first, *more = textwrap.wrap(line.source, COLUMNS - _SOURCE_AT) or [""]
    row = f"  {name:<{_NAME}} {line.size_bytes / GIB:>9.2f}  {first}".rstrip()
    return [row, *(" " * _SOURCE_AT + part for part in more)]


def _chosen(plan: Mapping[str, Any]) -> list[str]:
    """What the operator or the profile asked for in one sentence, and what the plan chose with its reason."""
    choices = plan.get("choices") or ()
    asked = [f"{one['name']} {one['value']}" for one in choices if one["by"] == "operator"]
    planned = [f"Chosen: {one['name']} {one['value']} ({one['why']})" for one in choices if one["by"] == "plan"]
    return [*([f"As asked: {', '.join(asked)}"] if asked else []), *planned]


def _forced(plan: Mapping[str, Any]) -> list[str]:
    forced = plan.get("forced") or ()
    return [f"Forced ({one['name']}): {one['message']}" for one in plan.get("refusals") or () if one["name"] in forced]
