# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far the engine was read is said in one place: a new version that changes nothing edits no other line of plugins."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.sglang.dialect import NEWEST
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.flags import names
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.log_lines import LINES
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.version import EngineVersion

PLUGINS = Path(__file__).parents[3] / "plugins"
FILES = sorted(PLUGINS.rglob("*.py"))
WHOLE = re.compile(rf"(?<![\w.]){re.escape(NEWEST)}(?![\w]|\.\w)")
BEGINS = (
    rf"since {re.escape(NEWEST)}",
    rf'\("{re.escape(NEWEST)}", ',  # a row of a history
    rf'(began|ended)\("{re.escape(NEWEST)}"\)',
    rf'^    "{re.escape(NEWEST)}": ',  # what went in it
    rf'"{re.escape(NEWEST)}"\),?$',  # a new name's first version
    rf'^    engine_version: "{re.escape(NEWEST)}"$',  # an example in a module's documentation
    rf"^{re.escape(NEWEST)}- ",  # a row of a generated table
)
"""Ways to say that something began with the newest version, which stays true when a newer one comes."""


def lines_that_end_with_it(text: str) -> list[str]:
    found = []
    for line in text.splitlines():
        rest = line
        for way in BEGINS:
            rest = re.sub(way, "", rest)
        if WHOLE.search(rest):
            found.append(line)
    return found


def test_no_end_is_written_at_the_newest_version():
    found = {path.name: lines_that_end_with_it(path.read_text(encoding="utf-8")) for path in FILES}
    listed = [line for line in names.VERSIONS.splitlines() if NEWEST in line.split()]
    assert {name: lines for name, lines in found.items() if lines} == {"names.py": listed}
    assert len(listed) == 1


@pytest.mark.parametrize(
    "line",
    [
        f"# SGLang 0.5.5 to {NEWEST}",
        f"0.5.5-{NEWEST} switch some-flag",
        f"{NEWEST} switch some-flag",
        f"read in {NEWEST}.",
        f'LinePattern("pool", "0.4.9", "{NEWEST}", r"x"),',
    ],
)
def test_an_end_is_found(line):
    assert lines_that_end_with_it(line) == [line]


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line.name} since {line.first}")
def test_a_line_of_the_log_ends_only_before_the_newest_version(line):
    assert line.last is None or EngineVersion.parse(line.last) < EngineVersion.parse(NEWEST)
