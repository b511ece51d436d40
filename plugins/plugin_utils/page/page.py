# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan as one page that needs nothing else: no script, no font, no picture from anywhere. Private to the collection, may change any time.

What stands on the page is computed here and in the files beside this one; the templates only place it, and escape every value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ansible_collections.blackwell.inference.plugins.module_utils.planning.report.tables import plan_tables
from ansible_collections.blackwell.inference.plugins.module_utils.planning.report.text import (
    engine_text,
    headline,
    model_name,
)
from ansible_collections.blackwell.inference.plugins.plugin_utils.page import sections
from ansible_collections.blackwell.inference.plugins.plugin_utils.page.drawing import HATCHES
from ansible_collections.blackwell.inference.plugins.plugin_utils.page.memory import (
    MemorySection,
    gpu_section,
    host_section,
)

TEMPLATES = Path(__file__).parent
# What no document may hold: control characters, halves of surrogate pairs, and code points that are no characters.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def page(
    plan: Mapping[str, Any], measured: Mapping[str, Any] | None = None, verdict: Mapping[str, Any] | None = None
) -> str:
    """The page of `MemoryPlan.as_dict()`, also of one that was refused; `measured` is a calibration and `verdict` a verdict, as `server_verify` returns them.

    The same input gives the same bytes, and the only times are those of the measurement. What a plan lacks is left out.
    """
    figures = measured or {}
    return _PAGE.render(
        headline=headline(plan),
        refused=sections.is_refused(plan),
        model=model_name(plan),
        engine=engine_text(plan),
        state=sections.state(plan, verdict),
        key_figures=sections.key_figures(plan),
        memory=tuple(_memory(plan, figures, verdict)),
        pools=sections.pools(plan),
        choices=sections.choices(plan),
        remarks=sections.remarks(plan),
        start=sections.start(plan, figures),
        beside=sections.beside(plan, figures, verdict),
        verification=sections.verification(verdict),
        flags=sections.flags(plan),
        hatches=HATCHES,
    )


def _memory(
    plan: Mapping[str, Any], measured: Mapping[str, Any], verdict: Mapping[str, Any] | None
) -> Iterator[MemorySection]:
    for table in plan_tables(plan):
        yield gpu_section(table, plan, measured) if table.key == "gpu" else host_section(table, plan, measured, verdict)


def _clean(value: Any) -> Any:
    """Of every value that a template shows, before it is escaped; what is markup already is made of such values."""
    return value if isinstance(value, Markup) else _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", str(value))


def environment() -> Environment:
    """How the templates are read: each value is escaped, and a name that was not given is an error."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        finalize=_clean,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


# Compiled with the import: Ansible imports an action before it forks, so that its workers find them compiled.
_ENVIRONMENT = environment()
_PAGE, _PARTS, _STYLE = (_ENVIRONMENT.get_template(name) for name in ("page.html.j2", "parts.html.j2", "style.css.j2"))
