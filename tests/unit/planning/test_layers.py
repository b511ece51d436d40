# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Planning is arithmetic: it opens no file, and knows neither NVML nor Ansible nor a version of the engine."""

from __future__ import annotations

import ast
from importlib.util import resolve_name
from pathlib import Path

import pytest

UTILS = Path(__file__).parents[3] / "plugins" / "module_utils"
HOME = "ansible_collections.blackwell.inference.plugins.module_utils."
STANDARD = {
    "__future__",
    "collections",
    "collections.abc",
    "dataclasses",
    "html",
    "json",
    "math",
    "re",
    "struct",
    "typing",
}


def imported(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    package = HOME + ".".join(path.relative_to(UTILS).parent.parts)
    return names | {
        resolve_name("." * node.level + (node.module or ""), package)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
    }


@pytest.mark.parametrize("path", sorted((UTILS / "planning").rglob("*.py")), ids=lambda path: path.name)
def test_planning_imports_core_and_itself_alone(path):
    strangers = {name for name in imported(path) if not name.startswith((f"{HOME}core.", f"{HOME}planning"))}
    assert strangers <= STANDARD
    called = {
        node.func.id
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert called.isdisjoint({"open", "exec", "eval", "__import__"})


@pytest.mark.parametrize("name", ["sizing.py", "dialect.py", "arguments.py", "flag_table.py", "version.py"])
def test_the_engine_knows_nothing_of_planning(name):
    assert not {module for module in imported(UTILS / "engine" / name) if module.startswith(f"{HOME}planning.")}
