# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What /proc says of processes and of listening sockets, without waiting for any process. Private to the collection, may change any time."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from .files import lines_of, text_of

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


PROC = Path("/proc")
CGROUP2_MOUNTS = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup/systemd"))
_LISTEN = "0A"


def pids_of_cgroup(control_group: str, mounts: tuple[Path, ...] = CGROUP2_MOUNTS) -> tuple[int, ...]:
    """Pids in a control group and below it; empty when the group does not exist (any more)."""
    for mount in mounts:
        top = mount / control_group.lstrip("/")
        if (top / "cgroup.procs").exists():
            pids: set[int] = set()
            for folder, _folders, names in os.walk(top):
                if "cgroup.procs" in names:
                    pids.update(int(word) for word in text_of(Path(folder) / "cgroup.procs").split())
            return tuple(sorted(pids))
    return ()


def users_of_processes(proc: Path = PROC) -> set[int]:
    """The effective users of all processes."""
    users = set()
    for name in os.listdir(proc):
        if name.isdigit():
            with suppress(OSError):
                users.add(os.stat(proc / name).st_uid)
    return users


def environment_of(pid: int, proc: Path = PROC) -> dict[str, str]:
    """The environment that a process was started with; empty when it is gone or not ours to read."""
    pairs = (pair.partition("=") for pair in text_of(proc / str(pid) / "environ").split("\0") if "=" in pair)
    return {name: value for name, _equals, value in pairs}


def unit_of(pid: int, proc: Path = PROC) -> str | None:
    """The systemd unit that a process belongs to, from its control group."""
    groups = (line.rpartition(":")[2] for line in lines_of(text_of(proc / str(pid) / "cgroup")))
    return next(filter(None, map(unit_in, groups)), None)


def unit_in(control_group: str) -> str | None:
    """The innermost systemd unit in the path of a control group."""
    return next((part for part in reversed(control_group.split("/")) if part.endswith((".service", ".scope"))), None)


def listener_of(port: int, proc: Path = PROC) -> tuple[bool, int | None]:
    """Whether something listens on a TCP port, and the pid of the process when it can be seen.

    The kernel's socket tables name an inode; the process that has it open is searched in /proc. Sockets of other network namespaces do not show.
    """
    inodes = _listening_inodes(port, proc)
    if not inodes:
        return False, None
    wanted = {f"socket:[{inode}]" for inode in inodes}
    for entry in sorted((name for name in os.listdir(proc) if name.isdigit()), key=int):
        if any(link in wanted for link in _open_links(proc / entry / "fd")):
            return True, int(entry)
    return True, None


def _listening_inodes(port: int, proc: Path) -> list[str]:
    inodes = []
    for table in ("tcp", "tcp6"):
        for line in text_of(proc / "net" / table).splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9 and fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.append(fields[9])
    return inodes


def _open_links(folder: Path) -> list[str]:
    links: list[str] = []
    try:
        names = os.listdir(folder)
    except OSError:
        return links
    for name in names:
        try:
            links.append(os.readlink(folder / name))
        except OSError:
            continue
    return links
