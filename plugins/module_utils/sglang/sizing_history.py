# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a sizing rule says since when it has which value. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import Field, field
from typing import Any, TypeVar, cast

T = TypeVar("T")

OLDEST = "0.5.5"
_HISTORY = "history"


def history(oldest: T, *changes: tuple[str, T]) -> T:
    """A field of SizingRules: its value in the oldest version, then (first version, value) for each change, oldest first.

    Like dataclasses.field, this is typed as the value that the field will have, so that mypy holds every value against the field's type.
    """
    made = field(metadata={_HISTORY: ((OLDEST, oldest), *changes)})  # pylint: disable=invalid-field-call
    return cast(T, made)


def from_rows(rows: tuple[tuple[str, T], ...]) -> T:
    """The same of rows that stand elsewhere, the oldest version's among them."""
    (_oldest, value), *changes = rows
    return history(value, *changes)


def began(version: str) -> bool:
    """A field that is true since this version."""
    return history(False, (version, True))


def ended(version: str) -> bool:
    """A field that is true up to this version, and false in it."""
    return history(True, (version, False))


def rows_of(rule: Field[Any]) -> tuple[tuple[str, Any], ...]:
    """(first version, value) of a field, oldest first."""
    rows: tuple[tuple[str, Any], ...] = rule.metadata[_HISTORY]
    return rows
