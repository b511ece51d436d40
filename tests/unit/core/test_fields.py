# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How values are shown, and what passes for a number."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import ModelError
from ansible_collections.blackwell.inference.plugins.module_utils.core.fields import (
    Fields,
    describe,
    is_number,
    is_whole,
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "nothing"),
        (True, "true"),
        (False, "false"),
        ("61", "the text '61'"),
        ("x" * 99, f"the text '{'x' * 60}'"),
        (61, "61"),
        (0.5, "0.5"),
        (10**30, "a number beyond all bounds"),
        pytest.param(10**5000, "a number beyond all bounds", id="5,000 digits"),
        ({}, "a dictionary"),
        ([], "a list"),
        (b"", "a bytes"),
    ],
)
def test_seen(value, shown):
    assert describe(value) == shown


@pytest.mark.parametrize(
    ("value", "whole", "number"), [(1, True, True), (1.5, False, True), (True, False, False), ("1", False, False)]
)
def test_numbers(value, whole, number):
    assert (is_whole(value), is_number(value)) == (whole, number)


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_infinite_numbers_are_none(value):
    assert not is_number(value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "config.json: layers is missing; expected a whole number from 1 to 10: download it again."),
        ({"layers": None}, "config.json: layers is nothing; expected a whole number from 1 to 10: download it again."),
        ({"layers": 0}, "config.json: layers is 0; expected a whole number from 1 to 10: download it again."),
        ({"layers": 11}, "config.json: layers is 11; expected a whole number from 1 to 10: download it again."),
        (
            {"layers": "6"},
            "config.json: layers is the text '6'; expected a whole number from 1 to 10: download it again.",
        ),
    ],
)
def test_a_whole_number(data, message):
    with pytest.raises(ModelError) as refused:
        Fields(data, "config.json", "download it again").whole("layers", 1, 10)
    assert str(refused.value) == message


def test_other_kinds():
    fields = Fields({"a": "x", "b": True, "c": {"d": 1}, "e": None}, "here", "mend it")
    assert (fields.text("a"), fields.flag("b"), fields.within("c").whole("d", 0, 9), fields.optional_text("e")) == (
        "x",
        True,
        1,
        None,
    )
    assert fields.optional_whole("e", 0, 9) is None
    for call in (
        lambda: fields.text("b"),
        lambda: fields.flag("a"),
        lambda: fields.within("a"),
        lambda: fields.choice("a", {"y": 1}),
    ):
        with pytest.raises(ModelError, match="mend it"):
            call()
