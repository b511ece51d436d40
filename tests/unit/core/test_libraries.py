# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a module finds its Python libraries."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core import libraries


class Failed(Exception):
    """What fail_json raises here."""


class Respawned(Exception):
    """What running again elsewhere raises here."""


class FakeModule:
    def __init__(self, home: Path, **params: Any) -> None:
        self.params = {"toolbox": str(home / "toolbox"), "wheels": None, **params}
        self.home = home

    @property
    def tmpdir(self) -> str:
        return str(self.home)

    def fail_json(self, msg: str, **result: Any) -> None:
        raise Failed(msg, result)


@pytest.fixture(autouse=True)
def undone(monkeypatch):
    def respawn(python: str) -> None:
        raise Respawned(python)

    monkeypatch.setattr(libraries, "respawn_module", respawn)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(libraries, "DISTRIBUTIONS", {"lib_a": "dist-a", "lib_b": "dist-b", "json": "dist-json"})


def make_toolbox(home: Path, *libraries: str) -> None:
    (home / "toolbox/bin").mkdir(parents=True)
    python = home / "toolbox/bin/python"
    python.write_text("")
    python.chmod(0o755)
    for library in libraries:
        path = home / "toolbox/lib/python3.13/site-packages" / library
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix:
            path.write_text("")
        else:
            path.mkdir()
            (path / "__init__.py").write_text("")


def test_what_is_there_needs_nothing(tmp_path):
    libraries.require(FakeModule(tmp_path), "json")
    assert list(tmp_path.iterdir()) == []


def test_a_toolbox_that_has_all_runs_the_module(tmp_path):
    make_toolbox(tmp_path, "lib_a.py", "lib_b")
    with pytest.raises(Respawned) as respawned:
        libraries.require(FakeModule(tmp_path), "lib_a", "lib_b")
    assert respawned.value.args == (str(tmp_path / "toolbox/bin/python"),)


def test_only_once(tmp_path, monkeypatch):
    make_toolbox(tmp_path, "lib_a.py", "lib_b")
    monkeypatch.setattr(libraries, "has_respawned", lambda: True)
    with pytest.raises(Failed):
        libraries.require(FakeModule(tmp_path), "lib_a")


def test_a_toolbox_that_lacks_one_is_named(tmp_path):
    make_toolbox(tmp_path, "lib_a.py")
    with pytest.raises(Failed) as failed:
        libraries.require(FakeModule(tmp_path), "lib_a", "lib_b")
    assert failed.value.args[0] == (
        f"The Python libraries dist-a and dist-b cannot be imported: looked for in {sys.executable} and in the toolbox {tmp_path}/toolbox, "
        "which does not have all of them. "
        "The role blackwell.inference.toolbox installs them there."
    )


def test_no_toolbox_tells_the_action_plugin_what_to_bring(tmp_path):
    with pytest.raises(Failed) as failed:
        libraries.require(FakeModule(tmp_path), "json", "lib_b")
    message, result = failed.value.args
    assert message == (
        f"The Python library dist-b cannot be imported: looked for in {sys.executable} and in the toolbox {tmp_path}/toolbox, which does not exist. "
        "The role blackwell.inference.toolbox installs them there."
    )
    assert result["missing_libraries"] == {
        "distributions": ["dist-b"],
        "python_version": platform.python_version(),
        "implementation": "CPython",
        "machine": os.uname().machine,
        "libc": "-".join(platform.libc_ver()),
    }


def testwheels_laid_down_for_this_run_are_unpacked_into_the_temporary_folder(tmp_path):
    wheel = tmp_path / "lib_a-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("lib_a/__init__.py", "")
    libraries.require(FakeModule(tmp_path, wheels=[str(wheel)]), "lib_a")
    found = importlib.util.find_spec("lib_a")
    assert found is not None
    assert Path(found.origin).is_relative_to(tmp_path)
