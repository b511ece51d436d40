# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of the page. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...core.ledger import Line
from ...core.units import GIB
from .html_bar import swatch
from .html_text import Markup, element, joined
from .report_bars import FREE, BarStyle, looks
from .tables import Table


def ledger_table(table: Table) -> Markup:
    """The ledger behind a bar; the first column is the bar's legend."""
    rows = [_ledger_row("capacity", None, "", table.capacity)]
    rows += [
        _ledger_row("line", look, "− ", line)
        for line, look in zip(table.lines, looks(line.name for line in table.lines))
    ]
    rows.append(_ledger_row("result", BarStyle(FREE), "= ", table.result))
    return _table(table.title, (("key", "No."), ("", "What"), ("size", "GiB"), ("source", "Source")), rows)


def plain_table(caption: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> Markup:
    """Columns as (class, heading); the first cell of a row is its heading. Scrolls by itself where it is wider than the window."""
    classes = [class_ or None for class_, _heading in columns]
    body = [
        element(
            "tr",
            element("th", cells[0], scope="row"),
            *(element("td", cell, class_=class_) for cell, class_ in zip(cells[1:], classes[1:])),
        )
        for cells in rows
    ]
    return element(
        "div", _table(caption, columns, body), class_="wide", role="region", aria_label=caption, tabindex="0"
    )


def _table(caption: str, columns: Sequence[tuple[str, str]], rows: Sequence[Markup]) -> Markup:
    heads = [element("th", heading, scope="col", class_=class_ or None) for class_, heading in columns]
    return element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *heads)),
        element("tbody", *rows),
    )


def _ledger_row(kind: str, look: BarStyle | None, sign: str, line: Line) -> Markup:
    key = joined(swatch(look), element("span", f" {look.number or ''}")) if look else Markup("")
    return element(
        "tr",
        element("td", key, class_="key"),
        element("th", f"{sign}{line.name}", scope="row"),
        element("td", f"{line.size_bytes / GIB:,.2f}", class_="size"),
        element("td", line.source, class_="source"),
        class_=kind,
    )
