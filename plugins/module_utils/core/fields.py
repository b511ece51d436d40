# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading untrusted dictionaries: each wrong value gets a sentence. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable

from .errors import InferenceError, ModelError


def describe(value: Any) -> str:
    """A value as a sentence shows it: its type is often what is wrong with it. Long values are cut."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the text '{value[:60]}'"
    if isinstance(value, (int, float)):
        return "a number beyond all bounds" if is_whole(value) and abs(value) > 10**18 else str(value)
    if isinstance(value, Mapping):
        return "a dictionary"
    return "a list" if isinstance(value, (list, tuple)) else f"a {type(value).__name__}"


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """A finite number that is no truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < float("inf")


@dataclass(frozen=True)
class Fields:
    """A dictionary and the words that say where it came from and what to do about a wrong value in it."""

    data: Mapping[str, Any]
    where: str  # "config.json of /srv/models/x", "The profile's model"
    advice: str  # "download it again", ...
    error: type[InferenceError] = ModelError

    @classmethod
    def of(cls, data: Any, where: str, advice: str, error: type[InferenceError] = ModelError) -> Fields:
        if not isinstance(data, Mapping):
            raise error(f"{where} is {describe(data)}; expected a dictionary: {advice}.")
        return cls(data, where, advice, error)

    def within(self, key: str) -> Fields:
        """The dictionary under `key`."""
        return Fields.of(self.data.get(key), f"{key} in {self.where}", self.advice, self.error)

    def rows(self, key: str, where: str) -> list[Fields]:
        """The dictionaries of the list under `key`, which may be missing; `where` is what each of them is called."""
        found = self.data.get(key)
        if not isinstance(found, (list, tuple, type(None))):
            raise self.error(f"{self.where}: {key} is {describe(found)}; expected a list: {self.advice}.")
        return [Fields.of(row, where, self.advice, self.error) for row in found or ()]

    def has(self, key: str) -> bool:
        return self.data.get(key) is not None

    def whole(self, key: str, minimum: int, maximum: int) -> int:
        expected = f"a whole number from {minimum:,} to {maximum:,}"
        return int(self._checked(key, expected, lambda value: is_whole(value) and minimum <= value <= maximum))

    def optional_whole(self, key: str, minimum: int, maximum: int) -> int | None:
        return self.whole(key, minimum, maximum) if self.has(key) else None

    def text(self, key: str) -> str:
        return str(self._checked(key, "a text", lambda value: isinstance(value, str) and value != ""))

    def optional_text(self, key: str) -> str | None:
        return self.text(key) if self.has(key) else None

    def flag(self, key: str) -> bool:
        return bool(self._checked(key, "true or false", lambda value: isinstance(value, bool)))

    def choice(self, key: str, choices: Mapping[str, Any]) -> str:
        names = sorted(choices)
        return str(
            self._checked(key, f"one of {', '.join(names)}", lambda value: isinstance(value, str) and value in choices)
        )

    def _checked(self, key: str, expected: str, good: Callable[[Any], bool]) -> Any:
        value = self.data.get(key)
        if not good(value):
            problem = f"{key} is {describe(value)}" if key in self.data else f"{key} is missing"
            raise self.error(f"{self.where}: {problem}; expected {expected}: {self.advice}.")
        return value
