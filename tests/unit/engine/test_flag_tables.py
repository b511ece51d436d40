# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The compact tables hold what the real parser printed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.engine import flags_0_5_9, flags_0_5_23
from ansible_collections.blackwell.inference.plugins.module_utils.engine.flag_table import FlagTable

ROOT = Path(__file__).parents[3]
TABLES = {"0.5.9": flags_0_5_9.TABLE, "0.5.23": flags_0_5_23.TABLE}
SWITCHES = ("StoreTrueAction", "BooleanOptionalAction")


def recording(version):
    recorded = json.loads((ROOT / "tests" / "data" / "sglang" / "flags" / f"{version}.json").read_text())
    return {flag.removeprefix("--"): option for flag, option in recorded.items() if option["action"] != "HelpAction"}


@pytest.mark.parametrize("version", TABLES)
def test_every_option_of_the_recording_and_no_other(version):
    table: FlagTable = TABLES[version]
    assert table.version == version
    assert set(table.flags) == set(recording(version))


@pytest.mark.parametrize("version", TABLES)
def test_kinds_choices_and_lists_are_the_recorded_ones(version):
    for name, option in recording(version).items():
        flag = TABLES[version].flags[name]
        assert (flag.kind == "switch") == (option["action"] in SWITCHES), name
        assert (flag.kind == "deprecated") == option["action"].startswith("Deprecated"), name
        assert list(flag.choices) == option.get("choices", []), name
        assert flag.many == (option.get("nargs") in ("+", "*")), name
        if flag.kind not in ("switch", "deprecated"):
            numbers = {"int": "whole", "human_readable_int": "amount", "float": "number"}
            assert (flag.kind in numbers.values()) == (option.get("type") in numbers), name
            assert flag.kind == numbers.get(option.get("type"), flag.kind), name


@pytest.mark.parametrize("version", TABLES)
def test_names_of_one_option_lead_to_the_same_flag(version):
    recorded = recording(version)
    for name, option in recorded.items():
        first = TABLES[version].flags[name].name
        assert (recorded[first]["dest"], recorded[first]["action"]) == (option["dest"], option["action"])


def test_the_tables_are_what_the_tool_makes_of_the_recordings():
    made = subprocess.run(
        [sys.executable, "tests/tools/make_flag_tables.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (made.stdout, made.returncode) == ("", 0)


@pytest.mark.parametrize(
    ("version", "name", "good", "bad"),
    [
        ("0.5.9", "tp-size", [8], ["8", 8.0, True, None, [8]]),
        ("0.5.9", "mem-fraction-static", [0.88, 1], ["0.88", True]),
        ("0.5.9", "trust-remote-code", [True, False], ["true", 1]),
        ("0.5.9", "tool-call-parser", ["kimi_k2"], ["kimi", 2]),
        ("0.5.9", "cuda-graph-bs", [[1, 2, 4]], [4, "1 2", [1, "2"]]),
        ("0.5.9", "lora-paths", [["a=b"]], ["a=b"]),
        ("0.5.9", "mm-process-config", [{"image": {}}, '{"image": {}}'], ["{", 7]),
        ("0.5.9", "log-requests-level", [2], [4, "2"]),
        ("0.5.9", "hybrid-kvcache-ratio", [], [0.5, True]),
        ("0.5.23", "context-length", [262144], ["256k"]),
        ("0.5.23", "disable-cuda-graph", [], [True]),
    ],
)
def test_what_a_flag_takes(version, name, good, bad):
    flag = TABLES[version].flags[name]
    assert [value for value in good if not flag.takes(value)] == []
    assert [value for value in bad if flag.takes(value)] == []
