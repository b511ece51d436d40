# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of every recorded version, read from the generated tables. Private to the collection, may change any time.

A row is `FIRST-LAST HEAD WORDS...`: it holds for the recorded versions from FIRST to LAST, or for the one named alone. A post release that is
not recorded has the options of the version before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from . import flags_backends, flags_choices, flags_names, flags_numbers, flags_switches, flags_texts
from .flag_table import Flag, FlagTable

VERSIONS: tuple[str, ...] = tuple(flags_names.VERSIONS.split())
"""The versions whose options are recorded, oldest first."""
_CHOICES = (flags_backends.ROWS, flags_choices.ROWS)
_KINDS = (flags_switches.ROWS, flags_numbers.ROWS, flags_texts.ROWS)
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
        for kind, names in _rows(rows, version):
            base, many, _rest = kind.partition("-list")
            for name in names:
                flags[name] = Flag(name, base, bool(many), tuple(sorted(choices.get(name, ()))))
    for first, aliases in _rows(flags_names.ALIASES, version):
        flags.update(dict.fromkeys(aliases, flags[first]))
    barred = [name for _head, names in _rows(flags_names.BARRED, version) for name in names]
    return FlagTable(version, flags, frozenset(barred))


def versions_with(name: str) -> tuple[str, ...]:
    """The recorded versions that have a flag, oldest first."""
    return tuple(version for version in VERSIONS if name in flag_table(version).flags)


def _rows(text: str, version: str) -> Iterator[tuple[str, list[str]]]:
    place = _PLACE[version]
    for line in text.splitlines():
        if line:
            span, head, *words = line.split()
            first, _to, last = span.partition("-")
            if _PLACE[first] <= place <= _PLACE[last or first]:
                yield head, words
