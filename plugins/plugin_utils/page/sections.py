# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page's sections beside the pictures of memory. Each is None where the plan has nothing for it. Private to the collection, may change any time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import FORCEABLE
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB
from ansible_collections.blackwell.inference.plugins.module_utils.planning.report.tables import pool_rows
from ansible_collections.blackwell.inference.plugins.plugin_utils.page.bars import (
    SECONDS,
    Bar,
    BarStyle,
    Segment,
    start_bar,
)
from ansible_collections.blackwell.inference.plugins.plugin_utils.page.drawing import drawing
from ansible_collections.blackwell.inference.plugins.plugin_utils.page.measured import planned_beside_measured
from ansible_collections.blackwell.inference.plugins.plugin_utils.page.memory import Figure

OPEN, GOOD, BAD = "open", "good", "bad"


@dataclass(frozen=True)
class Column:
    heading: str
    kind: str = ""  # size: figures, text: may be long


@dataclass(frozen=True)
class PlainTable:
    """Rows of texts; the first of a row is its heading, and has its style's swatch in front of it where there are styles."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    styles: tuple[BarStyle, ...] = ()


@dataclass(frozen=True)
class State:
    """What is said of the plan as a whole; `kind` is open, good or bad."""

    kind: str
    text: str


@dataclass(frozen=True)
class KeyFigure:
    what: str
    amount: str
    unit: str = ""


@dataclass(frozen=True)
class Remark:
    """`kind` is refused, forced or note."""

    kind: str
    title: str
    message: str


@dataclass(frozen=True)
class Remarks:
    heading: str
    items: tuple[Remark, ...]


@dataclass(frozen=True)
class Start:
    figures: tuple[Figure, ...]
    table: PlainTable


@dataclass(frozen=True)
class Verification:
    table: PlainTable
    failed: tuple[Remark, ...]


def state(plan: Mapping[str, Any], verdict: Mapping[str, Any] | None) -> State:
    if is_refused(plan):
        return State(BAD, "Refused: it cannot be started as it is asked for")
    if verdict is None:
        return State(OPEN, "Planned, not verified yet")
    if verdict["passed"]:
        return State(GOOD, f"Verified {verdict['finished']}: it is what was planned")
    return State(BAD, f"Verified {verdict['finished']}: it is not what was planned")


def is_refused(plan: Mapping[str, Any]) -> bool:
    """Whether a refusal stands that nobody forced."""
    forced = plan.get("forced") or ()
    return any(one["name"] not in forced or not one.get("overridable", True) for one in plan.get("refusals") or ())


def key_figures(plan: Mapping[str, Any]) -> tuple[KeyFigure, ...]:
    """The figures that people ask for first."""
    pool, concurrency, gpu = plan.get("pool"), plan.get("concurrency"), plan.get("gpu")
    cache, host, start = plan.get("host_cache") or {}, plan.get("host"), plan.get("start")
    figures = []
    if pool:
        figures.append(KeyFigure("tokens in the pool of each rank", f"{pool['tokens']:,}"))
    if concurrency:
        what = f"requests of {concurrency['request_tokens']:,} tokens at once"
        figures.append(KeyFigure(what, f"{concurrency['requests']:,}"))
    if cache.get("enabled"):
        figures.append(KeyFigure("tokens in the host cache of each rank", f"{cache['tokens']:,}"))
    if gpu:
        figures.append(KeyFigure("stay free on each GPU", f"{gpu['headroom_bytes'] / GIB:,.2f}", " GiB"))
    if host:
        available = host["available_after_start_bytes"]
        figures.append(KeyFigure("stay available on the host", f"{available / GIB:,.2f}", " GiB"))
    if start:
        figures.append(KeyFigure("for a start, about", f"{start['estimate_seconds']:,}", " s"))
    return tuple(figures)


def pools(plan: Mapping[str, Any]) -> PlainTable | None:
    """Every pool of a rank."""
    rows = tuple(
        (
            row.name,
            row.place,
            row.kind,
            f"{row.slots:,}",
            "" if row.slot_bytes is None else f"{row.slot_bytes:,}",
            f"{row.size_bytes / GIB:,.2f}",
        )
        for row in pool_rows(plan)
    )
    sizes = (Column("Slots", "size"), Column("Bytes a slot", "size"), Column("GiB", "size"))
    columns = (Column("Pool"), Column("In"), Column("Kind"), *sizes)
    return PlainTable("Pools of one rank", columns, rows) if rows else None


def choices(plan: Mapping[str, Any]) -> PlainTable | None:
    """What was chosen, by whom, why and at what cost."""
    rows = tuple(
        (one["name"], value_text(one["value"]), one["by"], one["why"], one.get("costs") or "")
        for one in plan.get("choices") or ()
    )
    reasons = (Column("Why", "text"), Column("What it costs", "text"))
    columns = (Column("What"), Column("Value", "text"), Column("Chosen by"), *reasons)
    return PlainTable("Chosen values", columns, rows) if rows else None


def remarks(plan: Mapping[str, Any]) -> Remarks | None:
    """What was refused, forced and noted."""
    forced = plan.get("forced") or ()
    items = [
        Remark("forced", f"Forced: {one['name']}", f"{one['message']} Forcing it means: {FORCEABLE[one['name']]}.")
        if one["name"] in forced
        else Remark("refused", f"Refused: {one['name']}", one["message"])
        for one in plan.get("refusals") or ()
    ]
    items += [Remark("note", "Note", note) for note in plan.get("notes") or ()]
    heading = "Refused, forced and noted" if plan.get("refusals") else "Notes"
    return Remarks(heading, tuple(items)) if items else None


def start(plan: Mapping[str, Any], measured: Mapping[str, Any]) -> Start | None:
    """The seconds of a start, estimated and measured, on one scale."""
    estimate = plan.get("start")
    if not estimate:
        return None
    seconds, took = estimate["estimate_seconds"], measured.get("start_seconds")
    scale = max(seconds, took or 0)
    picture = start_bar("Estimated start", estimate, scale)
    caption = f"Estimated: about {seconds:,} s; given up after {estimate['timeout_seconds']:,} s."
    figures = [Figure(caption, drawing(picture))]
    if took is not None:
        whole = Bar("Measured start", SECONDS, scale, (Segment("the whole start", took, BarStyle("process", 5)),))
        caption = f"Measured ({measured.get('measured', 'an earlier start')}): {took:,.0f} s."
        figures.append(Figure(caption, drawing(whole)))
    rows = tuple((f"{part.style.number} {part.name}", f"{part.amount:,.0f}") for part in picture.segments)
    styles = tuple(part.style for part in picture.segments)
    table = PlainTable("Seconds of a start", (Column("Part"), Column("Seconds", "size")), rows, styles)
    return Start(tuple(figures), table)


def beside(
    plan: Mapping[str, Any], measured: Mapping[str, Any], verdict: Mapping[str, Any] | None
) -> PlainTable | None:
    """Planned beside measured, figure by figure."""
    rows = tuple(
        (pair.what, pair.show(pair.planned), pair.show(pair.measured), pair.difference)
        for pair in planned_beside_measured(plan, measured, verdict)
    )
    columns = (Column("Figure"), Column("Planned", "size"), Column("Measured", "size"), Column("Difference", "size"))
    return PlainTable(f"Measured: {measured.get('measured', 'a verification')}", columns, rows) if rows else None


def verification(verdict: Mapping[str, Any] | None) -> Verification | None:
    """How many checks of each level passed, failed and were skipped, and what those that failed say."""
    if verdict is None:
        return None
    rows, failed = [], []
    for level in verdict["levels"]:
        outcomes = [check["outcome"] for check in level["checks"]]
        rows.append((level["level"], *(str(outcomes.count(kind)) for kind in ("passed", "failed", "skipped"))))
        failed += [
            Remark("refused", f"Failed: {level['level']}, {check['name']}", check["message"])
            for check in level["checks"]
            if check["outcome"] == "failed"
        ]
    columns = (Column("Level"), Column("Passed", "size"), Column("Failed", "size"), Column("Skipped", "size"))
    caption = f"Checks from {verdict['started']} to {verdict['finished']}"
    return Verification(PlainTable(caption, columns, tuple(rows)), tuple(failed))


def flags(plan: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What the engine is told."""
    return tuple((flag, value_text(value)) for flag, value in sorted((plan.get("arguments") or {}).items()))


def value_text(value: Any) -> str:
    """Text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
