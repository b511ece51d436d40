# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who a process is, and where it stands. Private to the collection, may change any time.

Nothing here waits for the process itself: `cmdline`, `environ` and `maps` do, and hang with one that hangs.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from .files import legible, lines_of, text_of
from .process import PROC, task_of, tasks_of

DELETED = " (deleted)"
"""What the kernel puts behind the name of an executable or a control group that has been removed since."""


@dataclass(frozen=True)
class Identity:
    """One process of this boot: pid and start time together never come again. The rest must not change either before it is signalled.

    `start_ticks`: field 22 of /proc/PID/stat, in clock ticks since boot. `control_group`: its path as /proc/PID/cgroup tells it, "/" where that
    cannot be read. `executable`: None where the leader has exited or the link cannot be read. One that was removed since, of either, keeps its name.
    """

    pid: int
    start_ticks: int
    control_group: str
    uid: int
    executable: str | None


@dataclass(frozen=True)
class Standing:
    """Of the first task of a process that still lives: letter of its state, and the kernel function that it waits in."""

    state: str
    wait_channel: str | None


def read_identity(pid: int, proc: Path = PROC) -> Identity | None:
    """None when there is no such process (any more)."""
    folder = proc / str(pid)
    task = task_of(str(proc), pid)
    uid = _real_uid(text_of(folder / "status"))
    if task is None or uid is None:
        return None
    return Identity(pid, task.start_ticks, control_group_of(pid, proc), uid, _executable(folder))


def control_group_of(pid: int, proc: Path = PROC) -> str:
    """Path in version 2, or in systemd's own hierarchy where that is of version 1; "/" where it cannot be read.

    Version 1 takes a leader that has exited out of its group, but not the threads that live on.
    """
    folder = proc / str(pid)
    group = _group(text_of(folder / "cgroup"))
    others = tasks_of(str(proc), pid) if group == "/" else []
    found = (_group(text_of(folder / "task" / str(task) / "cgroup")) for task in others)
    return next((path for path in found if path != "/"), group)


def start_of(pid: int, proc: Path = PROC) -> float | None:
    """Seconds since 1970, as the clock of now counts them; None when there is no such process (any more)."""
    task = task_of(str(proc), pid)
    return None if task is None else epoch_of(task.start_ticks)


def epoch_of(start_ticks: int) -> float:
    """By the clock of the boot: lxcfs shows a container another btime."""
    booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return booted + start_ticks / os.sysconf("SC_CLK_TCK")


def lineage_of(pid: int, proc: Path = PROC) -> frozenset[int]:
    """A process, its parent, and so on up to the first, which is always among them."""
    line = {1}
    while pid not in line and pid > 0:
        line.add(pid)
        task = task_of(str(proc), pid)
        pid = task.parent_pid if task else 1
    return frozenset(line)


def standing_of(pid: int, proc: Path = PROC) -> Standing | None:
    """None when no task of the process lives. The leader comes first: it may have exited while others have not."""
    for tid in sorted(tasks_of(str(proc), pid)):
        task = task_of(f"{proc}/{pid}/task", tid)
        if task and not task.has_ended:
            channel = text_of(proc / str(pid) / "task" / str(tid) / "wchan").strip()
            return Standing(task.state, channel if channel not in ("", "0") else None)
    return None


def _group(text: str) -> str:
    """systemd's hierarchy stands beside version 2's where both are mounted, and then all of version 2 is in its root."""
    groups = {}
    for line in lines_of(text):
        number, controllers, path = line.split(":", 2)
        groups["" if number == "0" else controllers] = path.removesuffix(DELETED)
    paths = (groups.get(name, "/") for name in ("", "name=systemd"))
    return next((path for path in paths if path != "/"), "/")


def _real_uid(status: str) -> int | None:
    for line in lines_of(status):
        if line.startswith("Uid:"):
            return int(line.split()[1])
    return None


def _executable(folder: Path) -> str | None:
    try:
        return legible(os.readlink(folder / "exe")).removesuffix(DELETED)
    except OSError:
        return None
