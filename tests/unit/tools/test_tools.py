# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scripts behind the Makefile that decide something, each in a checkout of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
PATH = "/usr/local/bin:/usr/bin:/bin"


@pytest.fixture
def checkout(tmp_path):
    shutil.copytree(TOOLS, tmp_path / "checkout/tests/tools")
    return tmp_path / "checkout"


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": PATH, "HOME": os.environ["HOME"], **environment}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def interpreter(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


class TestInterpreter:
    """Stand-ins named after versions that do not exist, so that the machine's own interpreters play no part."""

    def choose(self, *versions: str, path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
        return run(TOOLS / "interpreter", *versions, PATH=f"{path}:{PATH}", **environment)

    def test_a_shim_that_does_not_start_is_passed_over(self, tmp_path):
        interpreter(tmp_path / "python3.99", "echo 'pyenv: python3.99: command not found' >&2; exit 127")
        interpreter(tmp_path / "python3.98", "echo /opt/python3.98")
        assert self.choose("3.99", "3.98", path=tmp_path).stdout == "/opt/python3.98\n"

    def test_the_one_that_pyenv_keeps_is_found(self, tmp_path):
        interpreter(tmp_path / "python3.99", "exit 127")
        interpreter(tmp_path / "pyenv", f'[ "$*" = "prefix 3.99" ] && echo {tmp_path}/kept')
        interpreter(tmp_path / "kept/bin/python3.99", "echo /opt/python3.99")
        assert self.choose("3.99", "3.98", path=tmp_path).stdout == "/opt/python3.99\n"

    def test_none_at_all_is_said(self, tmp_path):
        answer = self.choose("3.99", "3.98", path=tmp_path)
        assert answer.returncode == 1
        assert answer.stderr.startswith("None of Python 3.99 3.98 starts here: install one")

    def test_a_wish_that_does_not_start_is_refused_and_not_replaced(self, tmp_path):
        interpreter(tmp_path / "python3.98", "echo /opt/python3.98")
        answer = self.choose("3.98", path=tmp_path, PYTHON="python3.99")
        assert (answer.returncode, answer.stdout) == (1, "")
        assert answer.stderr.startswith("PYTHON is 'python3.99', which does not start or is older than 3.11")


class TestTreeCopy:
    def test_it_has_what_git_would_commit_and_nothing_else(self, checkout):
        subprocess.run(["git", "init", "--quiet", checkout], check=True)
        for name in ("kept", "deleted", "ignored", "new name", "tests/data/recording", "playbooks/collections/link"):
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            (checkout / name).write_text(name)
        (checkout / ".gitignore").write_text("/ignored\n/.tree-copy/\n")
        subprocess.run(["git", "-C", checkout, "add", "kept", "deleted"], check=True)
        assert run(checkout / "tests/tools/tree", "copy").returncode == 0
        (checkout / "deleted").unlink()
        assert run(checkout / "tests/tools/tree", "copy").returncode == 0

        copy = checkout / ".tree-copy/ansible_collections/blackwell/inference"
        found = {str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file() and ".git" not in path.parts}
        assert {name for name in found if not name.startswith("tests/tools/")} == {".gitignore", "kept", "new name"}
        assert (copy / "tests/tools/tree").read_text() == (TOOLS / "tree").read_text()


class TestStages:
    def test_the_first_failure_ends_the_run_and_the_table_names_it(self, checkout):
        (checkout / "Makefile").write_text("good:\n\t@echo ran good\nbad:\n\t@exit 3\nafter:\n\t@echo ran after\n")
        answer = run(checkout / "tests/tools/stages", "good", "bad", "after")
        assert answer.returncode != 0
        assert [line.split()[0] for line in answer.stdout.splitlines() if " s" in line] == ["good", "bad", "all"]
        assert "bad              0 s  FAILED" in answer.stdout
        assert "ran after" not in answer.stdout
