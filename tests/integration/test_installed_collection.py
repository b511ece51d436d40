# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection as a user gets it: built, installed, and its playbooks called by their dotted names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
HARDWARE = {"gpus": 8, "gpu_name": "RTX PRO 6000", "gpu_memory_gib": 95.59, "ram_gib": 449, "ram_available_gib": 445}


def run(*command: str, cwd: Path, collections: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(collections), "ANSIBLE_NOCOLOR": "1"}
    return subprocess.run(
        [str(BIN / command[0]), *command[1:]], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of collections with ours installed from its tarball, and nothing of this checkout."""
    directory = tmp_path_factory.mktemp("installed")
    built = run(
        "ansible-galaxy",
        "collection",
        "build",
        str(ROOT),
        "--output-path",
        str(directory),
        cwd=directory,
        collections=directory,
    )
    assert built.returncode == 0, built.stderr
    tarball = next(directory.glob("blackwell-inference-*.tar.gz"))
    done = run(
        "ansible-galaxy",
        "collection",
        "install",
        "--offline",
        str(tarball),
        "--collections-path",
        str(directory),
        cwd=directory,
        collections=directory,
    )
    assert done.returncode == 0, done.stderr
    return directory


def test_a_plan_for_hardware_given_as_data_needs_no_host(installed):
    done = run(
        "ansible-playbook",
        "blackwell.inference.plan",
        "--extra-vars",
        json.dumps({"inference_profile": "kimi-k2.5", "inference_hardware": HARDWARE, "inference_report": "kimi.html"}),
        cwd=installed,
        collections=installed,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "159,294 tokens" in done.stdout
    assert "159,294" in (installed / "kimi.html").read_text()


@pytest.mark.parametrize("name", ["deploy", "deploy_kimi", "deploy_qwen", "plan", "verify"])
def test_every_playbook_answers_to_its_dotted_name(installed, name):
    done = run(
        "ansible-playbook",
        f"blackwell.inference.{name}",
        "--list-tasks",
        "--inventory",
        "gpu1,",
        "--extra-vars",
        "inference_hosts=all",
        cwd=installed,
        collections=installed,
    )
    assert done.returncode == 0, done.stderr
    assert "Profile | Read the profile" in done.stdout


def test_the_tarball_holds_what_a_user_runs_and_nothing_of_the_workshop(installed):
    top = installed / "ansible_collections" / "blackwell" / "inference"
    assert {"README.md", "LICENSE", "meta", "plugins", "roles", "playbooks", "docs"} <= {
        path.name for path in top.iterdir()
    }
    assert not {".tree", ".tree-copy", ".venv", ".ci", ".git"} & {path.name for path in top.iterdir()}
