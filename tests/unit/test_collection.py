# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the collection says of itself, against what is in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir())
MODULES = sorted(path.stem for path in (ROOT / "plugins/modules").glob("*.py"))
PYTHON_FILES = sorted(
    path for top in ("plugins", "tests", "roles") for path in (ROOT / top).rglob("*.py") if "output" not in path.parts
)
HEADER = """\
# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""


def read(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def test_the_changelog_begins_with_the_version_of_galaxy_yml():
    newest = re.search(r"^## v(\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == read("galaxy.yml")["version"]


def test_the_oldest_ansible_core_promised_is_one_that_is_tested():
    promised = re.fullmatch(r">=(\d+\.\d+)\.0", read("meta/runtime.yml")["requires_ansible"])
    assert promised is not None
    pins = re.findall(
        r"^ansible-core==(\d+\.\d+)\.",
        (ROOT / "tests/tools/requirements.txt").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert promised[1] == min(pins, key=lambda version: tuple(map(int, version.split("."))))


def test_module_defaults_of_the_group_reach_each_module():
    assert [name for name in MODULES if name not in read("meta/runtime.yml")["action_groups"]["all"]] == []


def test_each_python_file_says_whose_it_is_and_under_which_licence():
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in PYTHON_FILES}
    assert [name for name, text in texts.items() if text and not re.sub(r"\A#!.*\n", "", text).startswith(HEADER)] == []


@pytest.mark.parametrize("role", ROLES)
def test_the_readme_of_a_role_lists_the_variables_that_the_role_has(role):
    text = (ROOT / "roles" / role / "README.md").read_text(encoding="utf-8")
    listed = re.findall(rf"^\| `({role}_\w+)` \|", text, re.MULTILINE)
    assert sorted(listed) == sorted(read(f"roles/{role}/meta/argument_specs.yml")["argument_specs"]["main"]["options"])
