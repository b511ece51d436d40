# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a module carries to the host: each file is compiled there anew at each call, so each costs."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.tests.unit.test_architecture import FILES, HOME, PLUGINS, reached_from

MODULES = sorted(path.stem for path in (PLUGINS / "modules").glob("*.py"))
AT_MOST = {"gpu_release": 40, "memory_plan": 1, "model_info": 13, "server_verify": 35}


def carried_by(module: Path) -> set[str]:
    """The files of module_utils that import statements lead to from a module, wherever in a file these stand."""
    reached: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(HOME.rstrip(".")):
            base = (node.module or "").removeprefix(HOME.rstrip(".")).removeprefix(".")
            named = {base, *(f"{base}.{alias.name}".removeprefix(".") for alias in node.names)} & set(FILES)
            assert named, f"{module.name} imports {node.module}, which is no file of module_utils"
            for name in named:
                reached |= reached_from(name)
    return reached


@pytest.mark.parametrize("module", MODULES)
def test_no_module_carries_planning(module: str) -> None:
    carried = carried_by(PLUGINS / "modules" / f"{module}.py")
    assert {name for name in carried if name.startswith("planning.")} == set()


@pytest.mark.parametrize(("module", "most"), AT_MOST.items(), ids=list(AT_MOST))
def test_a_module_carries_few_files(module: str, most: int) -> None:
    carried = carried_by(PLUGINS / "modules" / f"{module}.py")
    assert len(carried) + 1 <= most, sorted(carried)
    assert (len(carried) > 0) is (most > 1)
