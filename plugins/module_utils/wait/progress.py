# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the processes of a unit get anywhere. Private to the collection, may change any time.

CPU time is no counter here: ranks that wait for each other in a deadlock spin at 100 %. Nor is anything that an idle loop does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..core.units import KIB, MIB
from ..observe.files import text_of
from ..observe.process import PROC, pids_of_cgroup
from ..observe.systemd import UnitState

READ_TALK_BYTES = 4 * KIB
"""A read call of up to this size is talk (pipes, event counters, small files of /proc), not weights: that much of each call is not counted."""

WRITE_TALK_BYTES = 64
"""The same for write calls. A progress bar that journald has not received yet, because its line has no end, is written in larger pieces."""

READ_STEP_BYTES = 4 * MIB
WRITE_STEP_BYTES = 64
MEMORY_STEP_BYTES = 16 * MIB
"""Growth below these steps is noise: a garbage collector's swing, a page read again after the kernel dropped it."""

# Kinds of memory in /proc/PID/status. They are watched apart: unmapping weight files must not hide the growth of a host pool.
MEMORY_KINDS = {"RssAnon": "anonymous", "RssFile": "file", "RssShmem": "shared", "VmLck": "locked", "VmPin": "pinned"}
_SHARD_SUFFIXES = (".safetensors", ".gguf", ".pt")
_SHARD = re.compile(r"[^/\s]+$")


@dataclass(frozen=True)
class Counters:
    """One look at a unit's processes. `reads` and `writes` are by pid; a process whose I/O may not be read is left out."""

    reads: Mapping[int, int] = field(default_factory=dict)
    writes: Mapping[int, int] = field(default_factory=dict)
    memory: Mapping[str, int] = field(default_factory=dict)
    swap_bytes: int = 0
    commands: Mapping[str, int] = field(default_factory=dict)
    shard_files: tuple[str, ...] = ()

    @property
    def resident_bytes(self) -> int:
        return sum(self.memory.get(kind, 0) for kind in ("anonymous", "file", "shared"))

    @property
    def locked_bytes(self) -> int:
        return sum(self.memory.get(kind, 0) for kind in ("locked", "pinned"))


def pids_of_unit(unit: UnitState) -> tuple[int, ...]:
    """Pids of a unit's control group; where that does not show, the main process and its descendants."""
    pids = pids_of_cgroup(unit.control_group) if unit.control_group else ()
    return pids or family_of(unit.main_pid, (int(name) for name in os.listdir(PROC) if name.isdigit()))


def family_of(main_pid: int, pids: Iterable[int], proc: Path = PROC) -> tuple[int, ...]:
    """The main process and its descendants among `pids`.

    A unit's control processes (a gate in ExecStartPost that polls the API) are in the same control group and come and go for ever.
    """
    parents = {pid: _parent(pid, proc) for pid in pids}
    return tuple(pid for pid in sorted(parents) if main_pid in _line_of(pid, parents))


def count(pids: Iterable[int], proc: Path = PROC) -> Counters:
    """Counters of processes; one that ends meanwhile is left out."""
    reads: dict[int, int] = {}
    writes: dict[int, int] = {}
    memory = dict.fromkeys(MEMORY_KINDS.values(), 0)
    commands: dict[str, int] = {}
    shards: set[str] = set()
    swap = 0
    for pid in pids:
        status = _fields(proc / str(pid) / "status")
        if "VmRSS" not in status:
            continue
        for kind, name in MEMORY_KINDS.items():
            memory[name] += _kib(status.get(kind))
        swap += _kib(status.get("VmSwap"))
        commands[status["Name"]] = commands.get(status["Name"], 0) + 1
        io = _fields(proc / str(pid) / "io")
        if "rchar" in io:
            reads[pid], writes[pid] = _bulk_read_bytes(io), _text_written_bytes(io)
        shards.update(_mapped_shards(proc / str(pid)))
    return Counters(reads, writes, memory, swap, commands, tuple(sorted(shards)))


@dataclass
class Marks:
    """What was seen at the last progress; `moved` compares a look with it. Travels between calls as plain data."""

    journal_lines: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    reads: dict[int, int] = field(default_factory=dict)
    writes: dict[int, int] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
    commands: dict[str, int] = field(default_factory=dict)

    def moved(self, seen: Counters, journal_lines: int) -> list[str]:
        """Names of the counters that moved since the last progress, which is now if there are any."""
        self.read_bytes += sum(max(0, now - self.reads.get(pid, 0)) for pid, now in seen.reads.items())
        self.written_bytes += sum(max(0, now - self.writes.get(pid, 0)) for pid, now in seen.writes.items())
        self.reads, self.writes = dict(seen.reads), dict(seen.writes)
        for kind, now in seen.memory.items():
            self.memory[kind] = min(now, self.memory.get(kind, 0))
        grown = [kind for kind, now in seen.memory.items() if now - self.memory[kind] >= MEMORY_STEP_BYTES]
        # A loop that starts a short-lived command again and again shows no more commands than it did the first time.
        more = [name for name, number in seen.commands.items() if number > self.commands.get(name, 0)]
        moved = []
        if journal_lines > self.journal_lines:
            moved.append("journal")
        if self.read_bytes >= READ_STEP_BYTES:
            moved.append("bytes read")
        if self.written_bytes >= WRITE_STEP_BYTES:
            moved.append("text written")
        if grown:
            moved.append("memory")
        if more:
            moved.append("processes")
        if moved:
            self.journal_lines, self.read_bytes, self.written_bytes, self.memory = (
                journal_lines,
                0,
                0,
                dict(seen.memory),
            )
            self.commands.update({name: seen.commands[name] for name in more})
        return moved


def _bulk_read_bytes(io: Mapping[str, str]) -> int:
    """Bytes read as data: from storage (page faults included), or by calls that read more than talk, from the page cache too."""
    return max(int(io["read_bytes"]), int(io["rchar"]) - READ_TALK_BYTES * int(io["syscr"]))


def _text_written_bytes(io: Mapping[str, str]) -> int:
    return max(0, int(io["wchar"]) - WRITE_TALK_BYTES * int(io["syscw"]))


def _mapped_shards(process: Path) -> set[str]:
    """Names of the weight files that a process has mapped."""
    lines = text_of(process / "maps").splitlines()
    found = (_SHARD.search(line) for line in lines if line.endswith(_SHARD_SUFFIXES))
    return {match.group(0) for match in found if match}


def _line_of(pid: int, parents: Mapping[int, int]) -> list[int]:
    line = [pid]
    while line[-1] in parents and parents[line[-1]] not in line:
        line.append(parents[line[-1]])
    return line


def _parent(pid: int, proc: Path) -> int:
    return int(_fields(proc / str(pid) / "status").get("PPid", 0))


def _kib(text: str | None) -> int:
    return int(text.split()[0]) * KIB if text else 0


def _fields(path: Path) -> dict[str, str]:
    return {name: value.strip() for name, _colon, value in (line.partition(":") for line in text_of(path).splitlines())}
