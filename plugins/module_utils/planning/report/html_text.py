# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTML that is escaped by construction. Private to the collection, may change any time."""

from __future__ import annotations

import html
import re

_VOID = frozenset(("meta", "br"))
# What no document may hold: control characters, halves of surrogate pairs, and code points that are no characters.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


class Markup(str):
    """Text that is HTML already. Only `element` and `joined` make it, and constants of this collection."""

    __slots__ = ()


def escaped(text: object) -> Markup:
    """Any text, fit for content and for a quoted attribute."""
    return Markup(html.escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", str(text)), quote=True))


def joined(*parts: str) -> Markup:
    """One after the other; what is not Markup is escaped."""
    return Markup("".join(part if isinstance(part, Markup) else escaped(part) for part in parts))


def element(tag: str, /, *children: str, **attributes: str | None) -> Markup:
    """`element("th", "GiB", scope="col", class_="size")`; an underscore stands for a dash, at the end for nothing; None leaves the attribute out."""
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{tag}{told}>" if tag in _VOID else f"<{tag}{told}>{joined(*children)}</{tag}>")
