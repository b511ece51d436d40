# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The compact tables hold what the real parsers printed, version by version and option by option."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import EngineError
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.arguments import checked_arguments
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.dialect import dialect_for
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.flags.changes import RENAMED, SUCCESSORS
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.flags.table import VERSIONS, flag_table
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.version import EngineVersion

ROOT = Path(__file__).parents[4]
RECORDINGS = ROOT / "tests" / "data" / "sglang" / "flags"
NUMBERS = {"int": "whole", "human_readable_int": "amount", "float": "number"}
JSON = ("loads", "json_list_type", "parse_cuda_graph_config_arg")


@cache
def recording(version):
    recorded = json.loads((RECORDINGS / f"{version}.json").read_text())
    return {flag.removeprefix("--"): option for flag, option in recorded.items() if option["action"] != "HelpAction"}


def kind_of(option):
    """Written anew here, from argparse's own notions."""
    if option["action"] == "DeprecatedAction":
        return "idle"
    if option["action"].endswith(("StoreTrueAction", "BooleanOptionalAction")):
        return "switch"
    if option["action"] == "DeprecatedStoreConstAction" and option.get("nargs") == "0":
        return "switch"
    return NUMBERS.get(option.get("type"), "json" if option.get("type") in JSON else "text")


def test_every_recording_has_its_version_and_every_release_has_one():
    assert set(VERSIONS) == {path.stem for path in RECORDINGS.glob("*.json")}
    assert list(VERSIONS) == sorted(VERSIONS, key=EngineVersion.parse)
    assert set(VERSIONS) >= {f"0.5.{release}" for release in range(5, 24)}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_option_of_the_recording_and_no_other(version):
    assert flag_table(version).version == version
    assert set(flag_table(version).flags) == set(recording(version))


@pytest.mark.parametrize("version", VERSIONS)
def test_kinds_choices_and_lists_are_the_recorded_ones(version):
    for name, option in recording(version).items():
        flag = flag_table(version).flags[name]
        first = recording(version)[flag.name]
        assert (first["dest"], first["action"]) == (option["dest"], option["action"]), name
        assert flag.kind == kind_of(option), name
        assert list(flag.choices) == option.get("choices", []), name
        assert flag.many == (option.get("nargs") in ("+", "*")), name


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_real_reader_of_config_files_refused_is_barred(version):
    refused = {name for name, option in recording(version).items() if option.get("config") is False}
    assert flag_table(version).barred == refused


@pytest.mark.parametrize("version", VERSIONS)
def test_a_barred_flag_is_refused_by_its_name(version):
    for name in flag_table(version).barred:
        with pytest.raises(EngineError, match=rf"^arguments has {name}[,;] "):
            checked_arguments(dialect_for(version), {name: True})


@pytest.mark.parametrize(("older", "newer"), list(pairwise(VERSIONS)), ids=lambda version: version)
def test_what_became_of_every_flag_that_went_is_said(older, newer):
    gone = sorted(set(flag_table(older).flags) - set(flag_table(newer).flags))
    assert [name for name in gone if name not in SUCCESSORS] == []


@pytest.mark.parametrize("name", sorted(RENAMED))
def test_a_later_name_takes_over_when_the_table_says(name):
    """Before that version the older name is the one that a server config can hold, from then on the later one."""
    change = RENAMED[name]
    place = VERSIONS.index(change.since)
    after, before = flag_table(VERSIONS[place]), flag_table(VERSIONS[place - 1])
    assert name in before.flags
    assert change.name in after.flags
    assert change.name not in after.barred
    assert name not in after.flags or name in after.barred or change.name not in before.flags


def test_the_tables_are_what_the_tool_makes_of_the_recordings():
    made = subprocess.run(
        [sys.executable, "tests/tools/make_flag_tables.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (made.stdout, made.returncode) == ("", 0)


WENT = [
    (name, match.group(1))
    for name, text in SUCCESSORS.items()
    for match in [re.search(r"it went in (\S+?),? ", text)]
    if match
]


@pytest.mark.parametrize(("name", "version"), WENT, ids=[name for name, _version in WENT])
def test_the_version_in_which_a_flag_went_is_the_first_without_it(name, version):
    place = VERSIONS.index(version)
    assert name in flag_table(VERSIONS[place - 1]).flags
    assert name not in flag_table(version).flags
