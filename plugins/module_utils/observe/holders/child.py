# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that looks for holders, run as a process of its own because a look at a process may never return. Private to the collection.

It prints one JSON object a line: `reading` before each process, then what it saw of it. First come the descriptors of all, which hardly ever
hang, then mappings and environments, which hang with a process that hangs. It never changes anything. Holds for Linux 4.18 to 6.18.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Callable

from ..files import text_of
from ..identity import epoch_of, read_identity
from ..process import container_of, environment_of, living_task, namespace_pids, task_of, unit_in
from .gpu_files import GpuFiles
from .gpu_nodes import GpuNodes

DESCRIPTORS, MAPPINGS = "descriptors", "mappings"

_ASLEEP = "D"
_WAKING_SECONDS = 1.0
_ROUNDS = 3


class Scanner:
    """Looks at all processes for what `request` (`holders.ScanRequest`) asks, and prints each message with `tell`."""

    def __init__(self, request: dict[str, Any], tell: Callable[..., None]) -> None:
        self.proc: str = request["proc"]
        self.environment = frozenset(request["environment"])
        self.known: set[int] = set(request["known"])
        self.tell = tell
        memory = request["shared_memory"]
        nodes = GpuNodes.from_json(request["nodes"])
        self.files = GpuFiles(self.proc, nodes, memory and (memory[0], memory[1]), self.refer)
        self._referenced: set[int] = set()

    def refer(self, inode: int) -> None:
        if inode not in self._referenced:
            self._referenced.add(inode)
            self.tell(referenced=inode)

    def pids(self, first: int) -> list[int]:
        return sorted(int(name) for name in os.listdir(self.proc) if name.isdigit() and int(name) >= first)

    def all_descriptors(self, first: int) -> None:
        """Of the processes there are, and of those that they have started meanwhile."""
        seen: set[int] = set()
        for _round in range(_ROUNDS):
            new = [pid for pid in self.pids(first) if pid not in seen]
            for pid in new:
                self.tell(reading=pid, part=DESCRIPTORS, descriptors=self.files.descriptors)
                self._descriptors(pid)
            seen.update(new)

    def all_mappings(self, first: int) -> None:
        """One in uninterruptible sleep would take us with it: it is looked at again a little later, most sleep for a moment only."""
        asleep = [pid for pid in self.pids(first) if not self._mappings(pid)]
        for pid in asleep:
            self.tell(asleep=pid)
        end = time.monotonic() + _WAKING_SECONDS
        while asleep and time.monotonic() < end:
            time.sleep(_WAKING_SECONDS / 10)
            awake = {pid for pid in asleep if self._mappings(pid)}
            for pid in awake:
                self.tell(woken=pid)
            asleep = [pid for pid in asleep if pid not in awake]

    def _descriptors(self, pid: int) -> None:
        try:
            names = self.files.opened(pid)
        except PermissionError:
            task = task_of(self.proc, pid)
            if task and not (task.is_kernel_thread or task.has_ended):
                self.tell(refused=pid)
            return
        except (FileNotFoundError, ProcessLookupError):
            return
        if names:
            self.known.add(pid)
            self._tell_holder(pid, names, "descriptor", {})

    def _mappings(self, pid: int) -> bool:
        """False of a process that was not looked at because it sleeps."""
        task = task_of(self.proc, pid)
        if task is None or task.is_kernel_thread or (task.has_ended and task.threads < 2):
            return True
        if task.state == _ASLEEP:
            return False
        self.tell(reading=pid, part=MAPPINGS)
        living = living_task(self.proc, pid, task)
        try:
            names = self.files.mapped(living)
        except PermissionError:
            self.tell(refused=pid)
            return True
        if names or pid in self.known:
            variables = environment_of(living, Path(self.proc)) if self.environment else {}
            asked = {name: value for name, value in variables.items() if name in self.environment}
            self._tell_holder(pid, names, "mapping", asked)
        return True

    def _tell_holder(self, pid: int, names: Iterable[str], how: str, environment: dict[str, str]) -> None:
        proc = Path(self.proc)
        task, identity = task_of(self.proc, pid), read_identity(pid, proc)
        if task is None or identity is None:
            return
        living = living_task(self.proc, pid, task)
        self.tell(
            holder={
                "identity": vars(identity),
                "name": task.name,
                "state": task.state,
                "live_threads": task.live_threads,
                "parent_pid": task.parent_pid,
                "namespace_pids": namespace_pids(text_of(proc / str(pid) / "status"), pid),
                "unit": unit_in(identity.control_group),
                "container": container_of(text_of(proc / str(living) / "cgroup")),
                "started": epoch_of(task.start_ticks),
                "devices": {name: [how] for name in sorted(names)},
                "environment": environment,
            }
        )


def main() -> None:
    request = json.loads(sys.argv[1])

    def tell(**message: Any) -> None:
        os.write(1, json.dumps(message).encode() + b"\n")

    try:
        scanner = Scanner(request, tell)
        if request["part"] == DESCRIPTORS:
            scanner.all_descriptors(request["first"])
        scanner.all_mappings(request["first"] if request["part"] == MAPPINGS else 0)
    except Exception as error:  # whatever it is, the parent can say so; there is nobody else to tell
        tell(broke=f"{type(error).__name__}: {error}")
        return
    tell(done=True, descriptors=scanner.files.descriptors)


if __name__ == "__main__":
    main()
