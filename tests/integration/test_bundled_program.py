# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A play that installs a bundled program: what arrives, that a second run changes nothing, and what a refusal looks like."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.plugin_utils.bundle import program

NAME = "observe.nvml.child"
ANSIBLE = Path(sys.executable).with_name("ansible")


@pytest.fixture
def install(tmp_path: Path):
    """Copies the program of a module to a file, as a role does."""

    def run(name: str) -> subprocess.CompletedProcess[str]:
        content = f"{{{{ lookup('blackwell.inference.bundled_program', '{name}') }}}}"
        arguments = f'dest={tmp_path}/program mode=0644 content="{content}"'
        command = [
            str(ANSIBLE),
            "localhost",
            "--one-line",
            "--module-name",
            "ansible.builtin.copy",
            "--args",
            arguments,
        ]
        return subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, timeout=120, check=False)

    return run


def test_the_text_arrives_unchanged_and_only_once(install, tmp_path):
    first, second = install(NAME), install(NAME)
    assert (tmp_path / "program").read_text() == program(NAME)
    assert "localhost | CHANGED" in first.stdout
    assert "localhost | SUCCESS" in second.stdout


def test_a_refusal_is_the_sentence(install, tmp_path):
    refused = install("observe.gone")
    assert refused.returncode != 0
    assert (
        "A program was to be made of 'observe.gone', and the collection has no such module below plugins/module_utils. "
        "Give its name from there on, with dots for slashes and without .py."
    ) in refused.stdout + refused.stderr
    assert not (tmp_path / "program").exists()
