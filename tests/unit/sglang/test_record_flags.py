# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recorder tells what a config file can hold from what only the command line takes."""

from __future__ import annotations

import argparse
import importlib.util
import json
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "engine" / "record_flags.py"
SPEC = importlib.util.spec_from_file_location("record_flags", TOOL)
assert SPEC is not None
assert SPEC.loader is not None
record_flags = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(record_flags)


class Merger:
    """Reads JSON, which is YAML too. It bars by destination, as the engine's own did until 0.5.22."""

    def __init__(self, parser):
        self.barred = {a.dest for a in parser._actions if isinstance(a, Retired)}

    def merge_config_with_args(self, words):
        merged = []
        for key, value in json.loads(Path(words[1]).read_text()).items():
            if key.replace("-", "_") in self.barred:
                raise ValueError(f"Unsupported config option '{key}'")
            merged += [f"--{key}", *([] if value is True else map(str, value if isinstance(value, list) else [value]))]
        return merged


class OldMerger(Merger):
    """Takes no parser and bars nothing."""

    def __init__(self, boolean_actions):
        self.barred = set()


class Retired(argparse.Action):
    def __call__(self, _parser, namespace, values, _option=None):
        setattr(namespace, self.dest, values)


def parser():
    made = argparse.ArgumentParser()
    made.add_argument("--model-path", "--model", required=True)
    made.add_argument("--ratio", type=float, default=2.0)
    made.add_argument("--kind", choices=["b", "a"])
    made.add_argument("--sizes", nargs="+", type=int)
    made.add_argument("--fast", action="store_true")
    made.add_argument("--new-name", type=int)
    made.add_argument("--old-name", dest="new_name", action=Retired, type=int)
    return made


def test_a_row_for_every_option_string():
    table = record_flags.table_of(parser(), Merger)
    assert table["--ratio"] == {"action": "StoreAction", "dest": "ratio", "type": "float", "default": 2.0}
    assert table["--kind"]["choices"] == ["a", "b"]
    assert (
        table["--model"] == table["--model-path"] == {"action": "StoreAction", "dest": "model_path", "required": True}
    )
    assert table["--fast"]["nargs"] == "0"


@pytest.mark.parametrize(("merger", "barred"), [(Merger, ["--new-name"]), (OldMerger, [])])
def test_a_name_that_shares_a_barred_destination_is_barred_and_the_deprecated_one_is_not(merger, barred):
    table = record_flags.table_of(parser(), merger)
    assert [option for option, row in table.items() if row.get("config") is False] == barred


def never(text):
    raise ValueError(text)


def test_an_option_that_takes_no_sample_is_named():
    made = parser()
    made.add_argument("--odd", type=never)
    with pytest.raises(LookupError, match=r"^--odd takes none of 1, 0\.5, .*: add a sample that it takes\.$"):
        record_flags.table_of(made, Merger)


def test_a_stand_in_answers_anything_but_what_python_asks_of_modules():
    stand_in = record_flags.StandIn("absent")
    assert callable(stand_in.ops.anything)
    assert stand_in.decorator(test_a_row_for_every_option_string) is test_a_row_for_every_option_string
    assert not hasattr(stand_in, "__wrapped__")
