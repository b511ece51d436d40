# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the parts of a bar stand: widths in per cent, so that it fits a phone and a sheet of paper. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ansible_collections.blackwell.inference.plugins.plugin_utils.page.bars import Bar, BarStyle, Mark, Segment

_BAR_HEIGHT, _SLIM_HEIGHT, _MARK_HEIGHT, _AXIS_HEIGHT = 38, 14, 20, 20
_NUMBERED_FROM, _NARROW_BELOW = 2.4, 7.0  # per cent of the bar: room for a number on a desk, and on a phone
_TICKS = 6
_STEPS = (1, 2, 5)
# Pattern by number, 0 is plain: they tell things of one colour apart, and all of them in grey.
HATCHES = (
    ("M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4", 1.6),
    ("M0,2 h8 M0,6 h8", 1.2),
    ("M2,2 h0.01 M6,6 h0.01", 2.6),
    ("M2,0 v8 M6,0 v8", 1.2),
    ("M-2,6 l4,4 M0,0 l8,8 M6,-2 l4,4", 1.6),
)


@dataclass(frozen=True)
class Box:
    """A filled part of the bar; `x` and `width` are per cent."""

    x: str
    width: str
    text: str
    style: BarStyle


@dataclass(frozen=True)
class Number:
    """The number of a segment, as in the table. `narrow`: there is no room for it on a phone."""

    x: str
    number: int
    narrow: bool


@dataclass(frozen=True)
class Tick:
    x: str
    text: str
    anchor: str  # first, inner or last: which side of the tick the text stands on


@dataclass(frozen=True)
class Line:
    """The mark across the bar, with its text on the side that has more room."""

    x: str
    text: str
    anchor: str


@dataclass(frozen=True)
class Drawing:
    """A bar as its template places it. `top` is where the boxes begin, below the text of a mark."""

    description: str
    top: int
    bar_height: int
    height: int
    boxes: tuple[Box, ...]
    numbers: tuple[Number, ...] = ()
    ticks: tuple[Tick, ...] = ()
    mark: Line | None = None


def drawing(picture: Bar) -> Drawing:
    """A bar with its mark, its numbers and its scale."""
    top = _MARK_HEIGHT if picture.mark else 0
    return Drawing(
        description=picture.description,
        top=top,
        bar_height=_BAR_HEIGHT,
        height=top + _BAR_HEIGHT + _AXIS_HEIGHT,
        boxes=tuple(_boxes(picture)),
        numbers=tuple(_numbers(picture)),
        ticks=tuple(_ticks(picture)),
        mark=_mark(picture, picture.mark) if picture.mark else None,
    )


def slim_drawing(picture: Bar) -> Drawing:
    """Only the segments, for one of many."""
    return Drawing(picture.description, 0, _SLIM_HEIGHT, _SLIM_HEIGHT, tuple(_boxes(picture)))


def _percent(picture: Bar, amount: float) -> float:
    return 100 * amount / picture.scale if picture.scale else 0.0


def _text(percent: float) -> str:
    return f"{percent:.3f}%"


def _placed(picture: Bar) -> Iterator[tuple[Segment, float, float]]:
    """Each segment with its left end and its width, in per cent."""
    at = 0.0
    for segment in picture.segments:
        yield segment, _percent(picture, at), _percent(picture, segment.amount)
        at += segment.amount


def _boxes(picture: Bar) -> Iterator[Box]:
    for segment, left, width in _placed(picture):
        if segment.amount > 0:
            text = f"{segment.name}: {picture.unit.text(segment.amount)}"
            yield Box(_text(left), _text(width), text, segment.style)


def _numbers(picture: Bar) -> Iterator[Number]:
    for segment, left, width in _placed(picture):
        if segment.style.number and width >= _NUMBERED_FROM:
            yield Number(_text(left + width / 2), segment.style.number, width < _NARROW_BELOW)


def _ticks(picture: Bar) -> Iterator[Tick]:
    step = _step(picture.scale / picture.unit.size)
    for index in range(int(picture.scale / picture.unit.size / step) + 1):
        left = _percent(picture, index * step * picture.unit.size)
        text = f"{index * step:g} {picture.unit.name}" if index == 0 else f"{index * step:g}"
        yield Tick(_text(left), text, "first" if left < 3 else "last" if left > 97 else "inner")


def _step(scale: float) -> float:
    """The smallest round step that makes at most so many ticks."""
    power = 0.01
    while True:
        for factor in _STEPS:
            if scale <= factor * power * _TICKS:
                return factor * power
        power *= 10


def _mark(picture: Bar, mark: Mark) -> Line:
    left = _percent(picture, mark.at)
    return Line(_text(left), mark.text, "last" if left > 50 else "first")
