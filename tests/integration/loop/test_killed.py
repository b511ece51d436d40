# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A play killed at any task and run again comes to the same state as one that was never killed.

Six telling points are tried in every test run; `pytest -m kill` (make test-kill) tries every task.
"""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.tests.integration.loop.machine import MEMINFO, UNIT, Machine

# Ansible's workers have sessions of their own and outlive a play that is killed: they end with its pid namespace, whose first process waits for the play.
WITH_ITS_WORKERS = ("unshare", "--pid", "--fork", "--kill-child", "sh", "-c", '"$@"; exit $?', "sh")
# Task, and how long after it began the play dies: 0 is before anything of it reaches the host.
TELLING = [
    ("Build | Install what the lock pins", 1.5),
    ("Files | Write the files that differ", 1.0),
    ("Start | Load the unit as it is now", 0.0),
    ("Start | Start the engine, at boot as well", 0.5),
    ("Start | Wait until it serves", 1.0),
    ("Verify the server against its plan, and record the verdict", 0.3),
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


def play_killed(machine: Machine, tasks: Path, at: int | str, after_seconds: float) -> tuple[list[str], int]:
    """Run deploy.yml until the play is killed at its task number `at`, or whose name ends so; the names of the tasks that began, and how it ended."""
    tasks.unlink(missing_ok=True)
    environment = machine.environment(
        {
            "ANSIBLE_CALLBACKS_ENABLED": "kill_at_task",
            "KILL_AT_TASK": str(at),
            "KILL_AFTER_SECONDS": str(after_seconds),
            "KILL_TASKS": str(tasks),
        }
    )
    played = subprocess.Popen(
        [*WITH_ITS_WORKERS, *machine.command("deploy.yml")],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
    )
    ended = played.wait()
    return tasks.read_text(encoding="utf-8").splitlines(), ended


@pytest.fixture(scope="module")
def wanted(kimi: Machine) -> tuple[str, ...]:
    kimi.settle()
    return state(kimi)


@pytest.mark.testhost
@pytest.mark.parametrize(("task", "after_seconds"), TELLING)
def test_killed_at_a_telling_point(kimi, wanted, tmp_path, task, after_seconds):
    kimi.forget_instance()
    if task == TELLING[0][0]:
        kimi.spoil("rm -rf /opt/sglang")
    begun, ended = play_killed(kimi, tmp_path / "tasks", task, after_seconds)
    assert ended == -signal.SIGKILL
    assert any(name.endswith(task) for name in begun[-2:])  # a short task may have ended by then
    kimi.play("deploy.yml").expect()
    assert state(kimi) == wanted


@pytest.mark.kill
def test_killed_at_every_task(kimi, wanted, tmp_path):
    kimi.forget_instance()
    names, ended = play_killed(kimi, tmp_path / "tasks", 0, 0)  # no task has this number: what a whole run comes to
    assert (ended, len(names) > 20) == (0, True)
    for at in range(1, len(names) + 1):
        kimi.forget_instance()
        play_killed(kimi, tmp_path / "tasks", at, 0.4)
        found = evidence(kimi)
        try:
            kimi.play("deploy.yml").expect()
            assert state(kimi) == wanted
        except AssertionError as failure:
            raise AssertionError(f"Killed at task {at}, {names[at - 1]}. Then:\n{found}\n{failure}") from failure


def evidence(machine: Machine) -> str:
    """What a killed play left behind, for whoever has to find out why the next one failed."""
    script = (
        f"systemctl status --no-pager --lines=15 {UNIT}; grep -E 'MemAvailable|Shmem:' {MEMINFO} {MEMINFO}.full;"
        " ps -eo pid,ppid,stat,user,args | grep -v '[[]' | tail -25"
    )
    return machine.host.execute("sh", "-c", script, check=False).stdout
