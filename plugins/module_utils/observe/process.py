# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What /proc says of processes and of listening sockets. Private to the collection, may change any time."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from .files import lines_of, text_of

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
