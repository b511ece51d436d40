# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table behind a bar: its rows are the bar's legend. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.blackwell.inference.plugins.module_utils.core.ledger import Line
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB
from ansible_collections.blackwell.inference.plugins.module_utils.planning.report.tables import Table
from ansible_collections.blackwell.inference.plugins.plugin_utils.page.bars import FREE, BarStyle, bar_styles


@dataclass(frozen=True)
class Row:
    """`kind` is capacity, line or result."""

    kind: str
    style: BarStyle | None
    what: str
    gib: str
    source: str


def ledger_rows(table: Table) -> tuple[Row, ...]:
    """What there is, what is taken of it, what is left."""
    return (
        _row("capacity", None, "", table.capacity),
        *(
            _row("line", style, "\N{MINUS SIGN} ", line)
            for line, style in zip(table.lines, bar_styles(line.name for line in table.lines))
        ),
        _row("result", BarStyle(FREE), "= ", table.result),
    )


def _row(kind: str, style: BarStyle | None, sign: str, line: Line) -> Row:
    return Row(kind, style, f"{sign}{line.name}", f"{line.size_bytes / GIB:,.2f}", line.source)
