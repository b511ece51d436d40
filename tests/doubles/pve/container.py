# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A container as lxc makes it for the control group and the pids: processes in a pid namespace of their own, below /lxc/ID/ns.

    container.py STATE ID           enters the control group, and becomes the first process of a new pid namespace:
    container.py STATE ID PIDFD     starts the processes and waits for them until the process of PIDFD, the test, has ended

A process is {"name", "unit", "nodes": {"nvidia0": [major, minor]}, "maps": [names], "uid", "ignores_term": bool}. It makes its nodes itself, as a container's
/dev has its own, so that they have other inodes than the host's. The first start has the `processes` of the guest's file, a later one those of `again`.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import select
import signal
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

from pve import State, tree

PR_SET_NAME = 15


def enter(state: State, vmid: str) -> None:
    group = tree("lxc", vmid) / "ns"
    join(group / "init.scope")
    pidfd = os.pidfd_open(state.owner)
    os.set_inheritable(pidfd, True)
    program = [sys.executable, __file__, str(state.folder), vmid, str(pidfd)]
    os.execvp("unshare", ["unshare", "--pid", "--fork", "--kill-child", "--", *program])


def be_first(state: State, vmid: str, pidfd: int) -> None:
    guest = state.guest(vmid)
    ready = state.folder / "guests" / f"{vmid}.ready"
    pids = {}
    for process in guest.get("again" if ready.with_suffix(".again").exists() else "processes", []):
        pids[process["name"]] = begin(tree("lxc", vmid) / "ns", process)
    draft = ready.with_suffix(".draft")
    draft.write_text(json.dumps(pids))
    draft.replace(ready)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    select.select([pidfd], [], [])


def begin(group: Path, process: dict[str, Any]) -> int:
    told, telling = os.pipe()
    pid = os.fork()
    if pid == 0:
        join(group / "system.slice" / process["unit"] if process.get("unit") else group / "user.slice")
        kept = hold(process)
        ctypes.CDLL(None).prctl(PR_SET_NAME, process["name"].encode(), 0, 0, 0)
        if process.get("ignores_term"):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if process.get("uid"):
            os.setresuid(process["uid"], process["uid"], process["uid"])
        os.write(telling, b"x")
        os.close(telling)
        while kept is not None:
            signal.pause()
    os.close(telling)
    if os.read(told, 1) != b"x":
        sys.exit(f"{process['name']} did not start")
    os.close(told)
    return pid


def hold(process: dict[str, Any]) -> list[object]:
    kept: list[object] = []
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        for name, (major, minor) in process.get("nodes", {}).items():
            node = os.path.join(folder, name.replace("/", "-"))
            os.mknod(node, stat.S_IFCHR | 0o600, os.makedev(major, minor))
            descriptor = os.open(node, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
            kept.append(mmap.mmap(descriptor, mmap.PAGESIZE) if name in process.get("maps", ()) else descriptor)
    return kept


def join(group: Path) -> None:
    group.mkdir(parents=True, exist_ok=True)
    (group / "cgroup.procs").write_text("0")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        enter(State(sys.argv[1]), sys.argv[2])
    else:
        be_first(State(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
