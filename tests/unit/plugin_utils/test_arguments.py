# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A task's arguments as a module gets them."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

from ansible_collections.blackwell.inference.plugins.plugin_utils.arguments import ArgumentsError, plain, validated

SPEC: dict[str, Any] = {
    "model": {"type": "dict", "required": True},
    "steps": {"type": "int", "default": 3},
    "running": {"type": "bool", "default": False},
    "path": {"type": "str"},
}
ONLY_PLAIN = (dict, list, str, int, float, bool, type(None))


def types_in(value: Any) -> set[type]:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    keys = {type(key) for key in value} if isinstance(value, dict) else set()
    return {type(value), *keys}.union(*(types_in(one) for one in inside))


def test_values_of_a_template_become_plain() -> None:
    """Planning asks whether a figure is an int or a text: neither a tag nor a container that templates when it is read may come along."""
    variables = {"inner": trust_as_template("{{ 4 * 2 }}"), "outer": {"tp": trust_as_template("{{ inner }}"), "a": [1.5, None, True]}}  # fmt: skip
    given = Templar(DataLoader(), variables).template(trust_as_template("{{ outer }}"))
    assert plain(given) == {"tp": 8, "a": [1.5, None, True]}
    assert types_in(plain(given)) <= set(ONLY_PLAIN)


def test_dates_and_others_become_texts() -> None:
    class Decrypted:
        def __str__(self) -> str:
            return "opened"

    given = {"on": datetime.date(2026, 2, 24), "at": datetime.datetime(2026, 2, 24, 10), "key": Decrypted(), 1: ()}
    assert plain(given) == {"on": "2026-02-24", "at": "2026-02-24T10:00:00", "key": "opened", "1": []}


def test_defaults_and_types_are_the_specs() -> None:
    assert validated("m", {"model": '{"a": 1}', "running": "yes"}, SPEC) == {
        "model": {"a": 1},
        "steps": 3,
        "running": True,
        "path": None,
    }


@pytest.mark.parametrize(
    ("given", "rules", "message"),
    [
        ({}, {}, "missing required arguments: model"),
        ({"model": {}, "step": 1}, {}, "Unsupported parameters for (m) module: step. Supported parameters include: model, path, running, steps."),
        ({"model": {}, "steps": 1, "path": "x"}, {"mutually_exclusive": [("steps", "path")]}, "parameters are mutually exclusive: steps|path"),
    ],
    ids=["missing", "unknown", "both"],
)  # fmt: skip
def test_what_is_wrong_is_told_in_the_words_of_ansible(
    given: dict[str, Any], rules: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentsError) as error:
        validated("m", given, SPEC, **rules)
    assert str(error.value) == message
