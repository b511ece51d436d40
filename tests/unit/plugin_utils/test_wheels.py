# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The toolbox's libraries as wheels on the controller: only those whose hash the lock names."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.filter.pinned_versions import pinned_versions
from ansible_collections.blackwell.inference.plugins.plugin_utils import wheels
from ansible_collections.blackwell.inference.plugins.plugin_utils.wheels import Target, WheelsError

DEBIAN_13 = {"python_version": "3.13.5", "implementation": "CPython", "machine": "x86_64", "libc": "glibc-2.41"}
PURE = "pure-1.0-py3-none-any.whl"
BINARY = "binary-2.0-cp36-abi3-manylinux2014_{}.whl"
CONTENT = {PURE: b"pure", BINARY.format("x86_64"): b"binary x86", BINARY.format("aarch64"): b"binary arm"}


def sha256(name: str) -> str:
    return hashlib.sha256(CONTENT[name]).hexdigest()


@pytest.fixture
def lock(tmp_path, monkeypatch):
    path = tmp_path / "requirements.txt"
    path.write_text(
        f"# made by hand\npure==1.0 \\\n    --hash=sha256:{sha256(PURE)}\n"
        f"binary==2.0 \\\n    --hash=sha256:{sha256(BINARY.format('x86_64'))} \\\n    --hash=sha256:{sha256(BINARY.format('aarch64'))}\n"
    )
    monkeypatch.setattr(wheels, "LOCK", path)
    monkeypatch.setenv("BLACKWELL_CACHE", str(tmp_path / "cache"))
    return path


def fill(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(CONTENT[name])
    return folder


@pytest.fixture
def pip(monkeypatch):
    """A pip that downloads what it is told to, or fails; keeps its command lines."""

    class Pip:
        gives: tuple[str, ...] = ()
        fails = ""

        def __init__(self) -> None:
            self.commands: list[list[str]] = []

        def run(self, command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
            self.commands.append(command)
            fill(Path(command[command.index("--dest") + 1]), *self.gives)
            return subprocess.CompletedProcess(command, 1 if self.fails else 0, "", self.fails)

    pip = Pip()
    monkeypatch.setattr(wheels.subprocess, "run", pip.run)
    return pip


def test_the_shipped_lock_is_what_the_filter_and_the_wheels_read():
    text = wheels.LOCK.read_text()
    requirements = wheels.read_lock(text)
    assert {requirement.name: requirement.version for requirement in requirements} == pinned_versions(text)
    assert {requirement.name: len(requirement.hashes) for requirement in requirements} == {
        "nvidia-ml-py": 1,
        "psutil": 2,
    }


def test_a_folder_of_the_controller_gives_the_wheels_of_the_machine(tmp_path, lock, pip):
    folder = fill(tmp_path / "wheels", *CONTENT)
    found = wheels.wheels(Target("3.13", "aarch64"), str(folder))
    assert [wheel.name for wheel in found] == [PURE, BINARY.format("aarch64")]
    assert pip.commands == []


def test_a_wheel_with_another_hash_does_not_count(tmp_path, lock, pip):
    folder = fill(tmp_path / "wheels", *CONTENT)
    (folder / PURE).write_bytes(b"something else")
    with pytest.raises(WheelsError) as refused:
        wheels.wheels(Target("3.13", "x86_64"), str(folder))
    assert str(refused.value) == (
        f"The folder {folder} on the controller holds no wheel of pure 1.0 for x86_64 with a hash of the lock {lock}. "
        "Put the wheels there that the lock names, or leave toolbox_wheels out to have them downloaded."
    )


def test_wheels_are_downloaded_once_for_the_targets_python(tmp_path, lock, pip):
    pip.gives = (PURE, BINARY.format("x86_64"))
    first = wheels.wheels(Target("3.13", "x86_64"), "")
    assert wheels.wheels(Target("3.11", "x86_64"), "") == first
    assert [wheel.name for wheel in first] == [PURE, BINARY.format("x86_64")]
    assert first[0].is_relative_to(tmp_path / "cache")
    (command,) = pip.commands
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--require-hashes", "--only-binary=:all:", "--no-deps"} <= set(command)
    assert command[command.index("--python-version") + 1] == "3.13"
    assert "manylinux_2_28_x86_64" in command
    assert sorted(os.listdir(first[0].parent)) == sorted(wheel.name for wheel in first)  # nothing half-done beside them


def test_an_address_is_given_to_pip(tmp_path, lock, pip):
    pip.gives = (PURE, BINARY.format("x86_64"))
    wheels.wheels(Target("3.13", "x86_64"), "http://wheels.example/simple")
    assert pip.commands[0][-3:] == ["--no-index", "--find-links", "http://wheels.example/simple"]


def test_a_download_that_fails_says_why_and_what_to_do(lock, pip):
    pip.fails = "WARNING: old\nERROR: No matching distribution found for pure==1.0\n"
    with pytest.raises(WheelsError) as refused:
        wheels.wheels(Target("3.13", "x86_64"), "")
    assert str(refused.value) == (
        f"The controller could not fetch the wheels of the lock {lock}: ERROR: No matching distribution found for pure==1.0. "
        f"Give {sys.executable} pip and a package index, or name a folder that holds the wheels in the variable toolbox_wheels."
    )


def test_a_target_that_the_wheels_fit():
    assert wheels.target_of(DEBIAN_13) == Target("3.13", "x86_64")


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        ({"python_version": "3.8.10"}, "CPython 3.8.10 on x86_64 with glibc-2.41"),
        ({"implementation": "PyPy"}, "PyPy 3.13.5 on x86_64 with glibc-2.41"),
        ({"machine": "riscv64"}, "CPython 3.13.5 on riscv64 with glibc-2.41"),
        ({"libc": ""}, "CPython 3.13.5 on x86_64 with an unknown C library"),
    ],
)
def test_a_target_that_no_wheel_fits(change, seen):
    with pytest.raises(WheelsError) as refused:
        wheels.target_of({**DEBIAN_13, **change})
    assert str(refused.value) == (
        f"The libraries cannot be brought along: the host has {seen}, and CPython 3.9 or newer on x86_64 or aarch64 with glibc was expected. "
        "Install another Python on the host and name it in ansible_python_interpreter."
    )
