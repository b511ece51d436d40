# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page's sections beside the pictures of memory. Each is nothing where the plan has nothing for it. Private to the collection, may change any time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...core.errors import FORCEABLE
from ...core.units import GIB
from .html_bar import bar_figure, swatch
from .html_table import plain_table
from .html_text import Markup, element, joined
from .report_bars import SECONDS, Bar, BarStyle, Segment, start_bar
from .report_measured import planned_beside_measured
from .tables import pool_rows
from .text import engine_text, free_text, model_name

NOTHING = Markup("")


def section(name: str, heading: str, *parts: str) -> Markup:
    """A section that its heading names; nothing when all parts are empty."""
    if not any(parts):
        return NOTHING
    return element("section", element("h2", heading, id=name), *parts, aria_labelledby=name)


def header(plan: Mapping[str, Any], verdict: Mapping[str, Any] | None) -> Markup:
    """What is served by what, whether it is so, and the figures that people ask for first."""
    figures = [
        element("div", element("dt", what), element("dd", amount, element("small", unit) if unit else NOTHING))
        for what, amount, unit in _figures(plan)
    ]
    return element(
        "header",
        element("h1", model_name(plan)),
        element("p", engine_text(plan), class_="what"),
        _state(verdict),
        element("dl", *figures, class_="figures") if figures else NOTHING,
    )


def _figures(plan: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    pool, concurrency, gpu = plan.get("pool"), plan.get("concurrency"), plan.get("gpu")
    cache, host, start = plan.get("host_cache") or {}, plan.get("host"), plan.get("start")
    figures = []
    if pool:
        figures.append(("tokens in the pool of each rank", f"{pool['tokens']:,}", ""))
    if concurrency:
        what = f"requests of {concurrency['request_tokens']:,} tokens at once"
        figures.append((what, f"{concurrency['requests']:,}", ""))
    if cache.get("enabled"):
        figures.append(("tokens in the host cache of each rank", f"{cache['tokens']:,}", ""))
    if gpu:
        figures.append(("stay free on each GPU", f"{gpu['headroom_bytes'] / GIB:,.2f}", " GiB"))
    if host:
        figures.append(("stay available on the host", f"{host['available_after_start_bytes'] / GIB:,.2f}", " GiB"))
    if start:
        figures.append(("for a start, about", f"{start['estimate_seconds']:,}", " s"))
    return figures


def _state(verdict: Mapping[str, Any] | None) -> Markup:
    if verdict is None:
        return element("p", "Planned, not verified yet", class_="state open")
    if verdict["passed"]:
        return element("p", f"Verified {verdict['finished']}: it is what was planned", class_="state good")
    return element("p", f"Verified {verdict['finished']}: it is not what was planned", class_="state bad")


def after_start(plan: Mapping[str, Any]) -> Markup:
    """The host once the server stands, as `free -h` will show it."""
    told = free_text(plan["host"]).removeprefix("; ")
    return element("p", f"After the start, {told}.", class_="what small") if told else NOTHING


def pools(plan: Mapping[str, Any]) -> Markup:
    """Every pool of a rank."""
    rows = [
        (
            row.name,
            row.place,
            row.kind,
            f"{row.slots:,}",
            "" if row.slot_bytes is None else f"{row.slot_bytes:,}",
            f"{row.size_bytes / GIB:,.2f}",
        )
        for row in pool_rows(plan)
    ]
    columns = (
        ("", "Pool"),
        ("", "In"),
        ("", "Kind"),
        ("size", "Slots"),
        ("size", "Bytes a slot"),
        ("size", "GiB"),
    )
    return section("pools", "Pools", plain_table("Pools of one rank", columns, rows)) if rows else NOTHING


def choices(plan: Mapping[str, Any]) -> Markup:
    """What was chosen, by whom, why and at what cost."""
    rows = [
        (one["name"], value_text(one["value"]), one["by"], one["why"], one.get("costs") or "")
        for one in plan.get("choices") or ()
    ]
    columns = (("", "What"), ("text", "Value"), ("", "Chosen by"), ("text", "Why"), ("text", "What it costs"))
    return section("choices", "Choices", plain_table("Chosen values", columns, rows)) if rows else NOTHING


def told(plan: Mapping[str, Any]) -> Markup:
    """What was refused, forced and noted."""
    forced = plan.get("forced") or ()
    items = [
        _told("forced", f"Forced: {one['name']}", f"{one['message']} Forcing it means: {FORCEABLE[one['name']]}.")
        if one["name"] in forced
        else _told("refused", f"Refused: {one['name']}", one["message"])
        for one in plan.get("refusals") or ()
    ]
    items += [_told("note", "Note", note) for note in plan.get("notes") or ()]
    heading = "Refused, forced and noted" if plan.get("refusals") else "Notes"
    return section("told", heading, element("ul", *items, class_="told")) if items else NOTHING


def _told(kind: str, title: str, message: str) -> Markup:
    return element("li", element("strong", title), message, class_=kind)


def start(plan: Mapping[str, Any], measured: Mapping[str, Any]) -> Markup:
    """The seconds of a start, estimated and measured, on one scale."""
    estimate = plan.get("start")
    if not estimate:
        return NOTHING
    seconds, took = estimate["estimate_seconds"], measured.get("start_seconds")
    scale = max(seconds, took or 0)
    drawn = start_bar("Estimated start", estimate, scale)
    figures = [bar_figure(drawn, f"Estimated: about {seconds:,} s; given up after {estimate['timeout_seconds']:,} s.")]
    if took is not None:
        whole = Bar("Measured start", SECONDS, scale, (Segment("the whole start", took, BarStyle("process", 5)),))
        figures.append(bar_figure(whole, f"Measured ({measured.get('measured', 'an earlier start')}): {took:,.0f} s."))
    rows = [
        (joined(swatch(part.look), f" {part.look.number} {part.name}"), f"{part.amount:,.0f}")
        for part in drawn.segments
    ]
    table = plain_table("Seconds of a start", (("", "Part"), ("size", "Seconds")), rows)
    return section("start", "Start", *figures, table)


def beside(plan: Mapping[str, Any], measured: Mapping[str, Any] | None, verdict: Mapping[str, Any] | None) -> Markup:
    """Planned beside measured, figure by figure."""
    rows = [
        (pair.what, pair.show(pair.planned), pair.show(pair.measured), pair.difference)
        for pair in planned_beside_measured(plan, measured, verdict)
    ]
    columns = (("", "Figure"), ("size", "Planned"), ("size", "Measured"), ("size", "Difference"))
    if not rows:
        return NOTHING
    source = (measured or {}).get("measured", "a verification")
    return section("beside", "Planned beside measured", plain_table(f"Measured: {source}", columns, rows))


def verdict_levels(verdict: Mapping[str, Any] | None) -> Markup:
    """How many checks of each level passed, failed and were skipped, and what those that failed say."""
    if verdict is None:
        return NOTHING
    rows, failed = [], []
    for level in verdict["levels"]:
        outcomes = [check["outcome"] for check in level["checks"]]
        rows.append((level["level"], *(str(outcomes.count(kind)) for kind in ("passed", "failed", "skipped"))))
        failed += [
            _told("refused", f"Failed: {level['level']}, {check['name']}", check["message"])
            for check in level["checks"]
            if check["outcome"] == "failed"
        ]
    columns = (("", "Level"), ("size", "Passed"), ("size", "Failed"), ("size", "Skipped"))
    table = plain_table(f"Checks from {verdict['started']} to {verdict['finished']}", columns, rows)
    return section("verdict", "Verification", table, element("ul", *failed, class_="told") if failed else NOTHING)


def flags(plan: Mapping[str, Any]) -> Markup:
    """What the engine is told."""
    items = [
        element("div", element("dt", flag), element("dd", value_text(value)))
        for flag, value in sorted((plan.get("arguments") or {}).items())
    ]
    return section("flags", "Engine flags", element("dl", *items, class_="flags")) if items else NOTHING


def value_text(value: Any) -> str:
    """Text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
