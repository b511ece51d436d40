# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bars: what is drawn of a plan, as numbers. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.blackwell.inference.plugins.module_utils.core.ledger import Line
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB
from ansible_collections.blackwell.inference.plugins.module_utils.planning.report.tables import Table

OUTSIDE, FREE = "outside", "free"
# The first word found in a line's name says what kind of thing it is; things of one kind share a colour and differ in their pattern.
_KINDS = (
    ("weights", "weights"),
    ("graph", "graph"),
    ("multimodal", "work"),
    ("staging", "work"),
    ("table", "work"),
    ("process", "process"),
    ("context", "process"),
    ("cache", "pool"),
    ("pool", "pool"),
    ("indexer", "pool"),
    ("padding", "pool"),
)
PATTERNS = 6


@dataclass(frozen=True)
class Unit:
    """How amounts are printed: `text(12 * GIB)` is `12.00 GiB` in GIB_UNIT."""

    name: str
    size: int
    digits: int

    def text(self, amount: float) -> str:
        return f"{amount / self.size:,.{self.digits}f} {self.name}"


GIB_UNIT, SECONDS = Unit("GiB", GIB, 2), Unit("s", 1, 0)


@dataclass(frozen=True)
class BarStyle:
    """Colour and pattern of a segment, and the number that stands on it and in the table; 0 for none."""

    kind: str
    pattern: int = 0
    number: int = 0


@dataclass(frozen=True)
class Segment:
    name: str
    amount: float
    style: BarStyle


@dataclass(frozen=True)
class Mark:
    """A line across the bar at an amount from its left end."""

    at: float
    text: str


@dataclass(frozen=True)
class Bar:
    """Segments from left to right on a scale that ends at `scale`."""

    title: str
    unit: Unit
    scale: float
    segments: tuple[Segment, ...]
    mark: Mark | None = None

    @property
    def description(self) -> str:
        """The bar in words, for those who do not see it."""
        parts = [f"{segment.name} {self.unit.text(segment.amount)}" for segment in self.segments]
        return "; ".join([f"{self.title}, {self.unit.text(self.scale)} long: {parts[0]}", *parts[1:]]) + "."


def bar_styles(names: Iterable[str]) -> tuple[BarStyle, ...]:
    """One style for each line of a ledger, in order."""
    seen: dict[str, int] = {}
    made = []
    for number, name in enumerate(names, 1):
        kind = next((kind for word, kind in _KINDS if word in name), "work")
        made.append(BarStyle(kind, seen.get(kind, 0) % PATTERNS, number))
        seen[kind] = seen.get(kind, 0) + 1
    return tuple(made)


def ledger_bar(title: str, table: Table, whole_bytes: int, outside: str, mark: Mark | None = None) -> Bar:
    """What was gone before, the ledger's lines, what is left: of `whole_bytes`, the card or the host. A ledger that takes too much makes the bar longer."""
    before = max(0, whole_bytes - table.capacity.size_bytes)
    segments = [
        Segment(line.name, line.size_bytes, style)
        for line, style in zip(table.lines, bar_styles(line.name for line in table.lines))
    ]
    scale = before + max(table.capacity.size_bytes, table.taken_bytes)
    return Bar(title, GIB_UNIT, scale, _around(outside, before, segments, table.result), mark)


def measured_bar(title: str, planned: Bar, taken: Mapping[str, int], outside: int, left: Line, rest: str) -> Bar:
    """The same things with measured sizes, in the planned order; `taken` by line name, what nobody measured apart is the `rest` between them and `left`."""
    known = [
        Segment(segment.name, taken[segment.name], segment.style)
        for segment in planned.segments
        if segment.name in taken
    ]
    others = planned.scale - outside - left.size_bytes - sum(segment.amount for segment in known)
    if others > 0:
        known.append(Segment(rest, others, BarStyle("process", 5)))
    return Bar(title, planned.unit, planned.scale, _around(planned.segments[0].name, outside, known, left))


def _around(outside: str, before: int, segments: Iterable[Segment], left: Line) -> tuple[Segment, ...]:
    return (
        Segment(outside, before, BarStyle(OUTSIDE)),
        *segments,
        Segment(left.name, max(0, left.size_bytes), BarStyle(FREE)),
    )


def start_bar(title: str, start: Mapping[str, Any], scale: float) -> Bar:
    """The seconds of a start, as estimated."""
    parts = (
        ("weights from disk", "load_seconds", BarStyle("weights", 0, 1)),
        ("pinning the host cache", "pin_seconds", BarStyle("pool", 0, 2)),
        ("imports, process groups, graphs, warm-up", "other_seconds", BarStyle("process", 0, 3)),
    )
    return Bar(title, SECONDS, scale, tuple(Segment(name, start[key], style) for name, key, style in parts))
