# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of every recorded version of the engine, read from the generated tables. Private to the collection, may change any time.

A row is `FIRST-LAST HEAD WORDS...`: it holds for the recorded versions from FIRST to LAST. `FIRST-` holds for all since FIRST, `FIRST` for that one
alone. A post release that is not recorded has the options of the version before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Callable

from . import backends, choices, names, numbers, switches, texts


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _json(value: Any) -> bool:
    if isinstance(value, (dict, list)):
        return True
    try:
        json.loads(value)
    except (TypeError, ValueError):
        return False
    return isinstance(value, str)


# kind -> (what is expected, whether one value is such)
KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "switch": ("true or false", lambda value: isinstance(value, bool)),
    "whole": ("a whole number", _whole),
    "amount": ("a whole number", _whole),  # the command line also takes texts such as 256k; the plan holds numbers
    "number": ("a number", lambda value: isinstance(value, (int, float)) and not isinstance(value, bool)),
    "text": ("a text", lambda value: isinstance(value, str) and value != ""),
    "json": ("a dictionary, a list, or either as JSON text", _json),
    "idle": ("nothing: the engine takes it and does nothing with it", lambda value: False),
}


@dataclass(frozen=True)
class Flag:
    """One option. `name` is its first name, which other names lead to; `many`: it takes a list."""

    name: str
    kind: str
    many: bool
    choices: tuple[str, ...]

    def expected(self) -> str | None:
        what = f"one of {', '.join(self.choices)}" if self.choices else KINDS[self.kind][0]
        return f"a list, each {what}" if self.many else what

    def takes(self, value: Any) -> bool:
        if self.many:
            return isinstance(value, (list, tuple)) and all(self._takes_one(item) for item in value)
        return self._takes_one(value)

    def _takes_one(self, value: Any) -> bool:
        return KINDS[self.kind][1](value) and (not self.choices or str(value) in self.choices)


@dataclass(frozen=True)
class FlagTable:
    """All options of `version` by any of their names, without dashes in front.

    `barred` are names that its command line takes and its server config does not.
    """

    version: str
    flags: Mapping[str, Flag]
    barred: frozenset[str] = frozenset()


VERSIONS: tuple[str, ...] = tuple(names.VERSIONS.split())
"""The versions whose options are recorded, oldest first."""
_CHOICES = (backends.ROWS, choices.ROWS)
_KINDS = (switches.ROWS, numbers.ROWS, texts.ROWS)
_PLACE = {version: place for place, version in enumerate(VERSIONS)}


@cache
def flag_table(version: str) -> FlagTable:
    """The options of a recorded version."""
    choices: dict[str, tuple[str, ...]] = {}
    for rows in _CHOICES:
        for heads, words in _rows(rows, version):
            choices.update({name: (*choices.get(name, ()), *words) for name in heads.split(",")})
    flags: dict[str, Flag] = {}
    for rows in _KINDS:
        for kind, words in _rows(rows, version):
            base, many, _rest = kind.partition("-list")
            for name in words:
                flags[name] = Flag(name, base, bool(many), tuple(sorted(choices.get(name, ()))))
    for first, aliases in _rows(names.ALIASES, version):
        flags.update(dict.fromkeys(aliases, flags[first]))
    barred = [name for _head, words in _rows(names.BARRED, version) for name in words]
    return FlagTable(version, flags, frozenset(barred))


def versions_with(name: str) -> tuple[str, ...]:
    """The recorded versions that have a flag, oldest first."""
    return tuple(version for version in VERSIONS if name in flag_table(version).flags)


def _rows(text: str, version: str) -> Iterator[tuple[str, list[str]]]:
    place = _PLACE[version]
    for line in text.splitlines():
        if line:
            span, head, *words = line.split()
            first, to, last = span.partition("-")
            end = _PLACE[last] if last else len(_PLACE) if to else _PLACE[first]
            if _PLACE[first] <= place <= end:
                yield head, words
