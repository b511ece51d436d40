# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A bar as inline SVG: widths in per cent, so that it fits a phone and a sheet of paper. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Iterator

from .html_text import Markup, element, joined
from .report_bars import Bar, BarStyle, Mark, Segment

_BAR_HEIGHT, _SLIM_HEIGHT, _MARK_HEIGHT, _AXIS_HEIGHT = 38, 14, 20, 20
_NUMBERED_FROM, _NARROW_BELOW = 2.4, 7.0  # per cent of the bar: room for a number on a desk, and on a phone
_TICKS = 6
_STEPS = (1, 2, 5)
# Pattern by number, 0 is plain: they tell things of one colour apart, and all of them in grey.
_STROKES = (
    ("M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4", 1.6),
    ("M0,2 h8 M0,6 h8", 1.2),
    ("M2,2 h0.01 M6,6 h0.01", 2.6),
    ("M2,0 v8 M6,0 v8", 1.2),
    ("M-2,6 l4,4 M0,0 l8,8 M6,-2 l4,4", 1.6),
)


def pattern_definitions() -> Markup:
    """The hatchings that every bar and swatch of the page refers to."""
    patterns = [
        element(
            "pattern",
            element("path", d=path, stroke_width=f"{width:g}", stroke_linecap="round"),
            id=f"hatch-{number}",
            width="8",
            height="8",
            patternUnits="userSpaceOnUse",
        )
        for number, (path, width) in enumerate(_STROKES, 1)
    ]
    return element("svg", element("defs", *patterns), class_="definitions", width="0", height="0", aria_hidden="true")


def swatch(look: BarStyle) -> Markup:
    """What stands in front of the segment's row in a table."""
    box = joined(*_filled("1", "1", "22", "14", look))
    return element("svg", box, class_="swatch", width="24", height="16", aria_hidden="true")


def bar_figure(drawn: Bar, caption: str) -> Markup:
    """A bar with its mark, its numbers and its scale."""
    top = _MARK_HEIGHT if drawn.mark else 0
    height = top + _BAR_HEIGHT + _AXIS_HEIGHT
    parts = [
        *_segments(drawn, top, _BAR_HEIGHT),
        *_numbers(drawn, top + _BAR_HEIGHT / 2),
        *_axis(drawn, top + _BAR_HEIGHT),
        *(_mark(drawn, drawn.mark) if drawn.mark else ()),
    ]
    return element(
        "figure",
        element("figcaption", caption),
        element("svg", *parts, class_="bar", role="img", height=str(height), aria_label=drawn.description),
    )


def slim_bar(drawn: Bar) -> Markup:
    """Only the segments, for one of many."""
    return element(
        "svg",
        *_segments(drawn, 0, _SLIM_HEIGHT),
        class_="slim",
        role="img",
        height=str(_SLIM_HEIGHT),
        aria_label=drawn.description,
    )


def _percent(drawn: Bar, amount: float) -> float:
    return 100 * amount / drawn.scale if drawn.scale else 0.0


def _placed(drawn: Bar) -> Iterator[tuple[Segment, float, float]]:
    """Each segment with its left end and its width, in per cent."""
    at = 0.0
    for segment in drawn.segments:
        yield segment, _percent(drawn, at), _percent(drawn, segment.amount)
        at += segment.amount


def _segments(drawn: Bar, top: float, height: float) -> Iterator[Markup]:
    for segment, left, width in _placed(drawn):
        if segment.amount > 0:
            told = f"{segment.name}: {drawn.unit.text(segment.amount)}"
            shapes = _filled(f"{left:.3f}%", f"{top:g}", f"{width:.3f}%", f"{height:g}", segment.look)
            yield element("g", element("title", told), *shapes)


def _filled(x: str, y: str, width: str, height: str, look: BarStyle) -> list[Markup]:
    place = {"x": x, "y": y, "width": width, "height": height}
    shapes = [element("rect", class_=look.kind, **place)]
    if look.pattern:
        shapes.append(element("rect", fill=f"url(#hatch-{look.pattern})", **place))
    return shapes


def _numbers(drawn: Bar, middle: float) -> Iterator[Markup]:
    for segment, left, width in _placed(drawn):
        if segment.look.number and width >= _NUMBERED_FROM:
            x = f"{left + width / 2:.3f}%"
            narrow = "number narrow" if width < _NARROW_BELOW else "number"
            yield element(
                "g",
                element("circle", cx=x, cy=f"{middle:g}", r="9"),
                element("text", str(segment.look.number), x=x, y=f"{middle + 4:g}"),
                class_=narrow,
            )


def _axis(drawn: Bar, top: float) -> Iterator[Markup]:
    step = _step(drawn.scale / drawn.unit.size)
    count = int(drawn.scale / drawn.unit.size / step)
    for index in range(count + 1):
        left = _percent(drawn, index * step * drawn.unit.size)
        yield element("line", x1=f"{left:.3f}%", x2=f"{left:.3f}%", y1=f"{top:g}", y2=f"{top + 4:g}", class_="tick")
        told = f"{index * step:g} {drawn.unit.name}" if index == 0 else f"{index * step:g}"
        yield element("text", told, x=f"{left:.3f}%", y=f"{top + 16:g}", class_=f"tick {_anchor(left)}")


def _anchor(left: float) -> str:
    return "first" if left < 3 else "last" if left > 97 else "inner"


def _step(scale: float) -> float:
    """The smallest round step that makes at most so many ticks."""
    power = 0.01
    while True:
        for factor in _STEPS:
            if scale <= factor * power * _TICKS:
                return factor * power
        power *= 10


def _mark(drawn: Bar, mark: Mark) -> Iterator[Markup]:
    left = _percent(drawn, mark.at)
    x = f"{left:.3f}%"
    bottom = _MARK_HEIGHT + _BAR_HEIGHT + 3
    yield element("line", x1=x, x2=x, y1="4", y2=str(bottom), class_="mark")
    side = "last" if left > 50 else "first"
    yield element("text", mark.text, x=x, y="13", dx="-6" if left > 50 else "6", class_=f"mark {side}")
