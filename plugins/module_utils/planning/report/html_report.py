# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan as one page that needs nothing else: no script, no font, no picture from anywhere. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

from . import html_sections
from .html_bar import pattern_definitions
from .html_memory import gpu_picture, host_picture
from .html_style import STYLE
from .html_text import Markup, element
from .tables import Table, plan_tables
from .text import headline

# A browser that obeys this loads nothing from anywhere, whatever a name or a note of the plan may hold.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def html_report(
    plan: Mapping[str, Any], measured: Mapping[str, Any] | None = None, verdict: Mapping[str, Any] | None = None
) -> str:
    """The page of `MemoryPlan.as_dict()`; `measured` is a calibration and `verdict` a verdict, as `server_verify` returns them.

    The same input gives the same bytes, and the only times are those of the measurement. What a plan lacks is left out.
    """
    figures = measured or {}
    pictures: dict[str, Callable[[Table], tuple[str, ...]]] = {
        "gpu": lambda table: ("GPU memory", gpu_picture(table, plan, figures)),
        "host": lambda table: (
            "Host memory",
            host_picture(table, plan, figures, verdict),
            html_sections.after_start(plan),
        ),
    }
    sections = [
        *(html_sections.section(table.key, *pictures[table.key](table)) for table in plan_tables(plan)),
        html_sections.pools(plan),
        html_sections.choices(plan),
        html_sections.told(plan),
        html_sections.start(plan, figures),
        html_sections.beside(plan, measured, verdict),
        html_sections.verdict_levels(verdict),
        html_sections.flags(plan),
    ]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"Memory plan: {headline(plan)}"),
        element("style", Markup(STYLE)),
    )
    body = element("body", pattern_definitions(), html_sections.header(plan, verdict), element("main", *sections))
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"
