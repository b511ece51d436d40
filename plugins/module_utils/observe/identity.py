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

from ansible_collections.blackwell.inference.plugins.module_utils.observe.files import text_of
from ansible_collections.blackwell.inference.plugins.module_utils.observe.holder import Identity
from ansible_collections.blackwell.inference.plugins.module_utils.observe.process import PROC

DELETED = " (deleted)"
"""What the kernel puts behind the name of an executable or a control group that has been removed since."""

_PARENT, _START_TICKS = 1, 19  # in the fields that follow the name, which may hold blanks and parentheses
_OVER = ("Z", "X")


@dataclass(frozen=True)
class Standing:
    """Of the first task of a process that still lives: letter of its state, and the kernel function that it waits in."""

    state: str
    wait_channel: str | None


def read_identity(pid: int, proc: Path = PROC) -> Identity | None:
    """None when there is no such process (any more)."""
    folder = proc / str(pid)
    fields = _fields(folder)
    uid = _real_uid(text_of(folder / "status"))
    if fields is None or uid is None:
        return None
    return Identity(pid, int(fields[_START_TICKS]), control_group_of(pid, proc), uid, _executable(folder))


def control_group_of(pid: int, proc: Path = PROC) -> str:
    """Path in version 2, or in systemd's own hierarchy where there is only version 1; "/" where it cannot be read.

    Version 1 takes a leader that has exited out of its group, but not the threads that live on.
    """
    folder = proc / str(pid)
    group = _group(text_of(folder / "cgroup"))
    others = _tasks(folder) if group == "/" else []
    return next((found for found in (_group(text_of(task / "cgroup")) for task in others) if found != "/"), group)


def start_of(pid: int, proc: Path = PROC) -> float | None:
    """Seconds since 1970, as the clock of now counts them; None when there is no such process (any more)."""
    fields = _fields(proc / str(pid))
    if fields is None:
        return None
    booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return booted + int(fields[_START_TICKS]) / os.sysconf("SC_CLK_TCK")


def lineage_of(pid: int, proc: Path = PROC) -> frozenset[int]:
    """A process, its parent, and so on up to the first, which is always among them."""
    line = {1}
    while pid not in line and pid > 0:
        line.add(pid)
        fields = _fields(proc / str(pid))
        pid = int(fields[_PARENT]) if fields else 1
    return frozenset(line)


def standing_of(pid: int, proc: Path = PROC) -> Standing | None:
    """None when no task of the process lives. The leader comes first: it may have exited while others have not."""
    for task in _tasks(proc / str(pid)):
        fields = _fields(task)
        if fields and fields[0] not in _OVER:
            channel = text_of(task / "wchan").strip()
            return Standing(fields[0], channel if channel not in ("", "0") else None)
    return None


def _tasks(folder: Path) -> list[Path]:
    try:
        names = sorted(os.listdir(folder / "task"), key=int)
    except OSError:
        return []
    return [folder / "task" / name for name in names]


def _group(text: str) -> str:
    groups = {}
    for line in text.splitlines():
        number, controllers, path = line.split(":", 2)
        groups["" if number == "0" else controllers] = path.removesuffix(DELETED)
    return groups.get("") or groups.get("name=systemd") or "/"


def _fields(folder: Path) -> list[str] | None:
    """Those of `stat` from the state on."""
    fields = text_of(folder / "stat").rpartition(")")[2].split()
    return fields if len(fields) > _START_TICKS else None


def _real_uid(status: str) -> int | None:
    for line in status.splitlines():
        if line.startswith("Uid:"):
            return int(line.split()[1])
    return None


def _executable(folder: Path) -> str | None:
    try:
        return os.readlink(folder / "exe").removesuffix(DELETED)
    except OSError:
        return None
