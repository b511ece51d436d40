# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A play killed at any task and run again comes to the same state as one that was never killed.

Six telling points are tried in every test run; `pytest -m kill` (make test-kill) tries every task.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.tests.integration.loop.machine import Machine

UNIT = "sglang-kimi.service"
TELLING = [
    "Build the environment from the lock",
    "Files | Write the files that differ",
    "Start | Load the unit as it is now",
    "Start | Start the engine, at boot as well",
    "Wait until it serves",
    "Verify the running server against its plan",
]


def state(machine: Machine) -> tuple[str, ...]:
    """What two deployments that came to the same end have in common: every file of ours by its content, and the unit."""
    files = machine.run(
        "sh",
        "-c",
        "find /etc/sglang /etc/systemd/system /usr/local/lib/blackwell-inference -type f -exec sha256sum {} + | sort",
    )
    shown = machine.show(UNIT, "ActiveState", "UnitFileState", "NeedDaemonReload", "DropInPaths")
    return (files, *sorted(f"{name}={value}" for name, value in shown.items()))


def play_killed(machine: Machine, tasks: Path, at: int, after_seconds: float) -> list[str]:
    """Run deploy.yml until the play is killed at its task number `at`; the names of the tasks that began."""
    tasks.unlink(missing_ok=True)
    environment = machine.environment(
        {
            "ANSIBLE_CALLBACKS_ENABLED": "kill_at_task",
            "KILL_AT_TASK": str(at),
            "KILL_AFTER_SECONDS": str(after_seconds),
            "KILL_TASKS": str(tasks),
        }
    )
    subprocess.run(
        machine.command("deploy.yml"),
        env=environment,
        capture_output=True,
        check=False,
        start_new_session=True,
        cwd="/",
    )
    return tasks.read_text(encoding="utf-8").splitlines()


def reset(machine: Machine) -> None:
    """Back to a host without the instance; the environments stay where a test does not ask for their making."""
    machine.run(
        "sh",
        "-c",
        f"systemctl disable --now {UNIT} 2>/dev/null; rm -rf /etc/sglang /etc/systemd/system/sglang-kimi.service* /var/lib/blackwell-inference"
        " /usr/local/lib/blackwell-inference; systemctl daemon-reload; userdel sglang 2>/dev/null; true",
    )


def task_numbers(machine: Machine, tmp_path: Path) -> list[str]:
    return play_killed(machine, tmp_path / "all", 0, 0)


@pytest.mark.testhost
@pytest.mark.parametrize("task", TELLING)
@pytest.mark.parametrize("after_seconds", [0, 0.6], ids=["before", "amid"])
def test_killed_at_a_telling_point(deployed, tmp_path, task, after_seconds):
    wanted = state(deployed)
    reset(deployed)
    if task == TELLING[0]:
        deployed.run("rm", "-rf", "/opt/sglang")
    names = _names_of_a_run(deployed)
    at = next(number for number, name in enumerate(names, start=1) if name.endswith(task))
    begun = play_killed(deployed, tmp_path / "tasks", at, after_seconds)
    assert len(begun) == at
    deployed.play("deploy.yml").expect()
    assert state(deployed) == wanted
    deployed.play("deploy.yml").expect(changed=0)


@pytest.mark.kill
def test_killed_at_every_task(deployed, tmp_path):
    wanted = state(deployed)
    names = _names_of_a_run(deployed)
    assert len(names) > 20
    for at in range(1, len(names) + 1):
        reset(deployed)
        play_killed(deployed, tmp_path / "tasks", at, 0.4)
        deployed.play("deploy.yml").expect()
        assert state(deployed) == wanted, f"killed at task {at}, {names[at - 1]}"


_NAMES: list[str] = []


def _names_of_a_run(machine: Machine) -> list[str]:
    """The tasks of a run in order; the same for every run, since what a run need not do is skipped and not left out."""
    if not _NAMES:
        listed = subprocess.run(
            [*machine.command("deploy.yml"), "--list-tasks"],
            env=machine.environment({}),
            capture_output=True,
            text=True,
            check=True,
            cwd="/",
        ).stdout
        _NAMES.extend(
            line.partition("TAGS:")[0].strip()
            for line in listed.splitlines()
            if "TAGS:" in line and not line.strip().startswith("play #")
        )
    return _NAMES
