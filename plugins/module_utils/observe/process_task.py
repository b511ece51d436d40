# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What /proc says of one process without waiting for it. Private to the collection, may change any time."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from .files import lines_of

_KERNEL_THREAD = 0x00200000
_ENDED = "ZX"
_STAT_BYTES = 4096

# An id of 64 digits names the container, wherever the runtime or Kubernetes has put its control group; the outermost container counts.
_CONTAINERS = (
    (re.compile(r"/lxc(?:/|\.payload[./])([^/]+)"), "lxc"),
    (re.compile(r"/(?:docker-|docker/)([0-9a-f]{64})"), "docker"),
    (re.compile(r"/libpod-([0-9a-f]{64})"), "podman"),
    (re.compile(r"[/:]cri-containerd[-:]([0-9a-f]{64})"), "containerd"),
    (re.compile(r"/crio-([0-9a-f]{64})"), "cri-o"),
    (re.compile(r"/kubepods[./].*?/([0-9a-f]{64})(?:/|$)"), "kubernetes"),
    (re.compile(r"/([0-9a-f]{64})(?:/|$)"), "oci"),
)
_ID_DIGITS = 12


class Task(NamedTuple):
    """The fields of /proc/PID/stat that we need. `threads` counts the leader that has exited too, as long as others have not."""

    name: str
    state: str
    parent_pid: int
    flags: int
    threads: int
    start_ticks: int

    @property
    def is_kernel_thread(self) -> bool:
        return bool(self.flags & _KERNEL_THREAD)

    @property
    def has_ended(self) -> bool:
        return self.state in _ENDED

    @property
    def live_threads(self) -> int:
        return self.threads - self.has_ended


def read_task(text: str) -> Task | None:
    """Of the text of /proc/PID/stat, whose name may hold blanks, parentheses and line ends; None when it is not whole."""
    head, _closing, tail = text.rpartition(")")
    fields = tail.split()
    if len(fields) < 20:
        return None
    name = head.partition("(")[2]
    return Task(name, fields[0], int(fields[1]), int(fields[6]), int(fields[17]), int(fields[19]))


def task_of(proc: str, pid: int) -> Task | None:
    """None when there is no such task (any more). /proc has a folder for each task, though it lists leaders only."""
    try:
        descriptor = os.open(f"{proc}/{pid}/stat", os.O_RDONLY)
    except OSError:
        return None
    try:
        return read_task(os.read(descriptor, _STAT_BYTES).decode(errors="replace"))
    except OSError:
        return None
    finally:
        os.close(descriptor)


def tasks_of(proc: str, pid: int) -> list[int]:
    try:
        return [int(name) for name in os.listdir(f"{proc}/{pid}/task")]
    except OSError:
        return []


def living_task(proc: str, pid: int, leader: Task) -> int:
    """The leader, or another task of the process where that has exited: it has what the leader has no more."""
    if leader.has_ended:
        for other in tasks_of(proc, pid):
            task = task_of(proc, other)
            if task is not None and not task.has_ended:
                return other
    return pid


def namespace_pids(status: str, pid: int) -> tuple[int, ...]:
    """Of the text of /proc/PID/status; kernels without pid namespaces do not tell."""
    for line in lines_of(status):
        if line.startswith("NSpid:"):
            return tuple(int(word) for word in line.split()[1:])
    return (pid,)


def container_of(cgroup: str) -> str | None:
    """ "lxc 101", "docker 4f0c2a9b8d7e": of the text of /proc/PID/cgroup; None when no container shows."""
    paths = [line.split(":", 2)[2] for line in lines_of(cgroup) if line.count(":") >= 2]
    found = [
        (match.start(), order, f"{kind} {match[1][:_ID_DIGITS] if kind != 'lxc' else match[1]}")
        for order, (pattern, kind) in enumerate(_CONTAINERS)
        for path in paths
        for match in [pattern.search(path)]
        if match
    ]
    return min(found)[2] if found else None
