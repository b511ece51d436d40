# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection as a user gets it: from its tarball, its playbooks called by their dotted names; or as a clone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
HARDWARE = {"gpus": 8, "gpu_name": "RTX PRO 6000", "gpu_memory_gib": 95.59, "ram_gib": 449, "ram_available_gib": 445}
LARGEST_TARBALL = 800_000  # bytes


def run(*command: str, cwd: Path, collections: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(collections), "ANSIBLE_NOCOLOR": "1"}
    return subprocess.run(
        [str(BIN / command[0]), *command[1:]], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def tarball() -> Path:
    """The one that `make package` checks: both ask the same script for it."""
    built = subprocess.run([ROOT / "tests/tools/tarball"], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return Path(built.stdout.strip())


@pytest.fixture(scope="module")
def installed(tarball: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of collections with ours installed from its tarball, and nothing of this checkout."""
    directory = tmp_path_factory.mktemp("installed")
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


def tasks_of(name: str, installed: Path) -> str:
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
    return done.stdout


@pytest.mark.parametrize("name", ["deploy", "deploy_kimi", "deploy_qwen", "plan", "verify"])
def test_every_playbook_answers_to_its_dotted_name(installed, name):
    assert "Profile | Load the profile" in tasks_of(name, installed)


def test_so_does_the_release_which_needs_no_profile(installed):
    assert "blackwell.inference.gpu_release : " in tasks_of("release_gpus", installed)


def test_the_tarball_holds_what_a_user_runs_and_nothing_of_the_workshop(tarball):
    with tarfile.open(tarball) as archive:
        names = [member.name for member in archive.getmembers()]
    assert sorted({name.split("/")[0] for name in names}) == [
        "CHANGELOG.md",
        "FILES.json",
        "LICENSE",
        "MANIFEST.json",
        "README.md",
        "changelogs",
        "docs",
        "meta",
        "playbooks",
        "plugins",
        "roles",
    ]
    assert [name for name in names if any(part.startswith(".") for part in name.split("/"))] == []
    assert [name for name in names if name.startswith(("playbooks/collections", "playbooks/inventory"))] == []
    assert [name for name in names if name.endswith((".pyc", ".retry", ".tar.gz"))] == []


def test_the_tarball_is_small(tarball):
    assert tarball.stat().st_size <= LARGEST_TARBALL


def test_what_plugins_and_playbooks_read_at_run_time_is_in_the_tarball(installed):
    """Ignored files are matched by patterns, and a pattern may match more than was meant."""
    shipped = installed / "ansible_collections/blackwell/inference"
    for folder in ("roles", "playbooks/profiles", "playbooks/tasks", "playbooks/vars", "plugins", "meta"):
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard", folder],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        assert listed != []
        assert [name for name in listed if (ROOT / name).exists() and not (shipped / name).exists()] == []


def test_the_bare_command_works_in_a_clone_as_far_as_a_host_that_cannot_be_reached(tmp_path):
    """No setting, no variable, nothing installed; and no network, so that nobody is asked for the address of the example."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True, timeout=60)
    done = subprocess.run(
        ["unshare", "--net", "ansible-playbook", "-i", "inventory.yml", "deploy-kimi.yml"],
        cwd=clone / "playbooks",
        env={"HOME": str(tmp_path), "PATH": f"{BIN}:/usr/sbin:/usr/bin:/sbin:/bin"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 4, done.stdout + done.stderr  # a host was unreachable, and nothing else went wrong
    assert "192.0.2.10 port 22: Network is unreachable" in done.stdout + done.stderr
    (recap,) = [line for line in done.stdout.splitlines() if line.startswith("gpu1 ")]
    assert "unreachable=1    failed=0" in recap
    assert "ok=0 " not in recap
    assert "WARNING" not in done.stdout + done.stderr
