# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rule of imports in plugins/module_utils, and the sizes that keep its files readable (docs/architecture.md)."""

from __future__ import annotations

import ast
from importlib.util import resolve_name
from pathlib import Path

import pytest

PLUGINS = Path(__file__).parents[2] / "plugins"
UTILS = PLUGINS / "module_utils"
HOME = "ansible_collections.blackwell.inference.plugins.module_utils."
FLOORS = (
    {"core"},
    {"observe"},
    {"sglang"},
    {"model"},
    {"planning"},
    {"wait"},
    {"deploy"},
    {"release"},
    {"verify", "proxmox"},
)
"""From the ground up: a file imports from its own folder and from lower floors."""
ROOMS_OF_PLANNING = ("request", "device", "host", "report", None)
"""The same inside planning; None: the files that stand in no room of it."""
STANDARD = {
    "__future__",
    "collections",
    "collections.abc",
    "dataclasses",
    "decimal",
    "functools",
    "html",
    "json",
    "math",
    "re",
    "struct",
    "typing",
}
MOST_FILES = 145
MOST_LINES = 250
MOST_WRAPPED_IMPORTS = 15


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(UTILS).with_suffix("").parts)


FILES = {name_of(path): path for path in sorted(UTILS.rglob("*.py"))}


def imported(path: Path) -> set[str]:
    """Modules that a file imports: ours named from module_utils on."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    package = HOME + ".".join(path.relative_to(UTILS).parent.parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            whole = {f"{base}.{alias.name}" for alias in node.names}
            modules = {name for name in whole if name.removeprefix(HOME) in FILES}
            names |= modules or {base}
    return {name.removeprefix(HOME) for name in names}


IMPORTS = {name: imported(path) for name, path in FILES.items()}
OURS = {name: modules & set(FILES) for name, modules in IMPORTS.items()}


def floor(name: str) -> int:
    folder = name.partition(".")[0]
    return next(number for number, folders in enumerate(FLOORS) if folder in folders)


def room(name: str) -> int:
    parts = name.split(".")
    return ROOMS_OF_PLANNING.index(parts[1] if len(parts) > 2 else None)


def test_each_folder_has_its_floor():
    assert {path.name for path in UTILS.iterdir() if path.name != "__pycache__"} == set().union(*FLOORS)


@pytest.mark.parametrize("name", FILES)
def test_no_import_climbs(name):
    folder = name.partition(".")[0]
    lower = {
        other: other.partition(".")[0] == folder if floor(other) == floor(name) else floor(other) < floor(name)
        for other in OURS[name]
    }
    assert [other for other, allowed in lower.items() if not allowed] == []


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("planning.")])
def test_no_import_climbs_inside_planning(name):
    assert [other for other in OURS[name] if other.startswith("planning.") and room(other) > room(name)] == []


def test_no_import_goes_in_a_circle():
    left = dict(OURS)
    while ready := [name for name, modules in left.items() if not modules & set(left)]:
        for name in ready:
            del left[name]
    assert sorted(left) == []


def reached_from(name: str) -> set[str]:
    """The file and all of ours that it leads to."""
    reached: set[str] = set()
    waiting = [name]
    while waiting:
        reached.add(waiting[-1])
        waiting += OURS[waiting.pop()] - reached
    return reached


PURE = sorted(set().union(*(reached_from(name) for name in FILES if name.startswith("planning."))))


@pytest.mark.parametrize("name", PURE)
def test_nothing_that_planning_leads_to_opens_a_file(name):
    assert IMPORTS[name] - set(FILES) <= STANDARD
    called = {
        node.func.id
        for node in ast.walk(ast.parse(FILES[name].read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert called.isdisjoint({"open", "exec", "eval", "__import__"})


def test_planning_knows_no_version_of_the_engine():
    """What a version does differently reaches it as a value of sizing rules, which are made elsewhere: it cannot compare versions."""
    asks = {other for name in PURE if not name.startswith("sglang.") for other in OURS[name]}
    assert {other for other in asks if other.startswith("sglang.")} == {"sglang.sizing_rules"}
    table = {"sglang.sizing_rules", "sglang.sizing_history", "sglang.architectures"}
    assert {name for name in PURE if name.startswith("sglang.")} == table


def test_rules_that_planning_holds_are_read_by_name_alone():
    """Nothing in planning looks into the histories of the fields."""
    reads = {
        f"{path.name}:{node.lineno}"
        for name, path in FILES.items()
        if name.startswith("planning.")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in ("metadata", "__dataclass_fields__")
    }
    assert reads == set()


def test_ansible_is_named_in_modules_and_action_plugins_alone():
    """But for two doors to what Ansible does better: starting a module again in another interpreter, and HTTP."""
    strangers = {
        name for name, modules in IMPORTS.items() if any(other.split(".")[0] == "ansible" for other in modules)
    }
    assert strangers == {"core.libraries", "sglang.api"}


def test_files_are_few_and_short():
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in FILES.items()}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}
    assert len(FILES) <= MOST_FILES


def test_import_statements_fit_on_a_line():
    wrapped = [
        f"{path.name}:{node.lineno}"
        for path in PLUGINS.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, (ast.Import, ast.ImportFrom)) and node.end_lineno != node.lineno
    ]
    assert len(wrapped) <= MOST_WRAPPED_IMPORTS
