# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One program out of a module of the collection and all that it imports. Private to the collection, may change any time.

The sources stand in the program as they are, not as an archive: who opens the file on the host reads what runs there, `--diff` shows what an update
changes, and no compressor gives other bytes on another controller.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path

COLLECTION = Path(__file__).resolve().parents[2]
_NAME = "ansible_collections.blackwell.inference"
_PARTS = f"{_NAME}.plugins.module_utils"
_START = Path(__file__).resolve().parent / "bundle_start.py"
_LICENCE_LINES = 3


class BundleError(Exception):
    """Why a program cannot be made, as a sentence."""


def program(part: str, collection: Path = COLLECTION) -> str:
    """The text of a program that runs `main()` of `part`, a module named from plugins/module_utils on ("observe.nvml.child").

    The same sources give the same bytes. What the collection does not have is left to the Python that runs the program.
    """
    sources = closure(part, collection)
    module = f"{_PARTS}.{part}"
    tree = ast.parse(sources[module])
    if not any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body):
        raise BundleError(
            f"The module {part} has no function main, so a program made of it would do nothing. "
            "Name the module that the host is to run, or give this one a main."
        )
    start = _START.read_text(encoding="utf-8").splitlines(keepends=True)
    texts = {_file(name, collection).relative_to(collection).as_posix(): text for name, text in sources.items()}
    entries = "".join(
        f'    "{_NAME.replace(".", "/")}/{path}": {literal(text)},\n' for path, text in sorted(texts.items())
    )
    return "".join(
        [
            *start[:_LICENCE_LINES],
            "#\n",
            f"# {part} of the Ansible collection blackwell.inference {version(collection)} and all of the collection that it needs, for Python 3.9 or newer.\n",
            "# Made by the lookup blackwell.inference.bundled_program: what is changed here is lost when the play runs again.\n",
            *start[_LICENCE_LINES:],
            f"\n\nSOURCES = {{\n{entries}}}\n",
            f'\nif __name__ == "__main__":\n    run("{module}", SOURCES)\n',
        ]
    )


def closure(part: str, collection: Path = COLLECTION) -> dict[str, str]:
    """Text by name of a module and of every module of the collection that import statements lead to from it, wherever in a file these stand."""
    first = f"{_PARTS}.{part}"
    if not re.fullmatch(r"\w+(\.\w+)*", part) or not _file(first, collection).exists():
        raise BundleError(
            f"A program was to be made of {part!r}, and the collection has no such module below plugins/module_utils. "
            "Give its name from there on, with dots for slashes and without .py."
        )
    found: dict[str, str] = {}
    waiting = [first]
    while waiting:
        module = waiting.pop()
        file = _file(module, collection)
        if module in found or not file.exists():  # few packages have an __init__.py
            continue
        found[module] = file.read_text(encoding="utf-8")
        waiting.append(module.rpartition(".")[0])
        package = module if file.name == "__init__.py" else module.rpartition(".")[0]
        for wanted in _imports(found[module], package):
            own = _own(wanted, collection)
            if own is None:
                raise BundleError(
                    f"No program can be made of {part}: {file.relative_to(collection)} imports {'.'.join(wanted)}, "
                    "and outside of Ansible the host has no such module. "
                    f"Take what needs it out of that file, or the file out of what {part} imports."
                )
            waiting += own
    return found


def version(collection: Path = COLLECTION) -> str:
    """The collection's version: an installed one has MANIFEST.json, a checkout galaxy.yml."""
    manifest = collection / "MANIFEST.json"
    if manifest.exists():
        return str(json.loads(manifest.read_text(encoding="utf-8"))["collection_info"]["version"])
    galaxy = collection / "galaxy.yml"
    line = re.search(r"^version: *[\"']?([^\s\"']+)", galaxy.read_text(encoding="utf-8"), re.MULTILINE)
    if line is None:
        raise BundleError(
            f"No version of the collection was found in {galaxy}, where a line with it was expected. Add one."
        )
    return line[1]


def literal(text: str) -> str:
    """An expression of the text: as it reads, unless it holds what would end it."""
    readable = f"r'''{text}'''"
    try:
        return readable if ast.literal_eval(readable) == text else repr(text)
    except (SyntaxError, ValueError):
        return repr(text)


def _file(module: str, collection: Path) -> Path:
    """Where a module of the collection would be; a package's is its __init__.py."""
    path = collection.joinpath(*module.split(".")[_NAME.count(".") + 1 :])
    return path / "__init__.py" if path.is_dir() else path.with_name(f"{path.name}.py")


def _imports(text: str, package: str) -> Iterator[tuple[str, ...]]:
    """What import statements name: a module, and where `from` stands before it also the name in it, which may be a module too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((alias.name,) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            yield from ((base, alias.name) for alias in node.names)


def _own(wanted: tuple[str, ...], collection: Path) -> list[str] | None:
    """The modules of the collection that an import names; None for what the host lacks: Ansible, other collections, what ours does not have."""
    if wanted[0].partition(".")[0] not in ("ansible", "ansible_collections"):
        return []
    names = [".".join(wanted[:length]) for length in range(1, len(wanted) + 1)]
    return [name for name in names if name.startswith(f"{_NAME}.") and _file(name, collection).exists()] or None
