# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recorded host that the double pretends to run on, and the memory of the real one.

`ENGINE_DOUBLE_HOST` names a JSON file with the keys of `Host`, or one of the recordings in this package.
`ENGINE_DOUBLE_MEMINFO` names a text like /proc/meminfo to read instead; if the double may write it, pinned memory leaves
`MemAvailable` there as it would on a real host, and comes back when the double ends.
"""

from __future__ import annotations

import fcntl
import functools
import json
import mmap
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TextIO

GIB = 1 << 30
# Shared by the ranks, which are forked; changed only under the lock on the described meminfo.
_taken_kib = {shared: mmap.mmap(-1, 8) for shared in (True, False)}
RECORDINGS = Path(__file__).with_name("hosts")


@dataclass(frozen=True)
class Host:
    """Figures of one rank, in GiB, as SGLang's log gives them."""

    gpu_total_mib: int
    free_before_load_gib: float
    weights_gib: dict[str, float]  # by architecture; of another one: the size of the checkpoint over the ranks
    graphs_gib: float  # for the full list of batch sizes
    graphs_batch_sizes: int  # how long that list was
    process_gib: float  # host memory of a rank's process beside its pinned pool
    prefill_graphs_gib: float  # of a version that captures prefill graphs
    prefill_needs_gib: float  # free memory below which a full prefill chunk runs out of it

    @staticmethod
    def read() -> Host:
        name = os.environ.get("ENGINE_DOUBLE_HOST", "design-host")
        path = Path(name) if name.endswith(".json") else RECORDINGS / f"{name}.json"
        content = json.loads(path.read_text(encoding="utf-8"))
        return Host(**{field.name: content[field.name] for field in fields(Host)})


def _meminfo_path() -> Path:
    return Path(os.environ.get("ENGINE_DOUBLE_MEMINFO", "/proc/meminfo"))


@functools.cache
def available_bytes() -> int:
    """MemAvailable when the engine was started: its ranks look at the host before any of them has pinned a page."""
    return _available_kib(_meminfo_path().read_text(encoding="utf-8")) * 1024


def _available_kib(text: str) -> int:
    match = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    if match is None:
        raise RuntimeError(f"{_meminfo_path()} has no line MemAvailable")
    return int(match.group(1))


class HostMemoryExhausted(Exception):
    """More was taken than the described host has; its kernel would kill."""


def take(size_bytes: int, shared: bool) -> None:
    """Let `size_bytes` leave the described memory. The real /proc/meminfo is left to the kernel."""
    with _described_memory() as file:
        if file is not None and _move(file, size_bytes // 1024, shared) == 0:
            raise HostMemoryExhausted(f"{_meminfo_path()} has no memory left")


@contextmanager
def giving_back() -> Iterator[None]:
    """Let all that was taken come back after the body, which may end ranks: none of them is half-way through taking."""
    with _described_memory() as file:
        yield
        if file is not None:
            for shared, taken in _taken_kib.items():
                _move(file, -int.from_bytes(taken[:], "little"), shared)


def guard() -> None:
    """Leave a process behind that lets all come back once this one and its ranks are gone: a kernel does so however they ended.

    It hears of it by the end of a pipe that they all hold. It is nobody's child, and outlives what stops the others, but not SIGKILL.
    """
    if not _is_described():
        return
    gone, held = os.pipe()
    stops = (signal.SIGTERM, signal.SIGQUIT, signal.SIGINT)
    before = signal.pthread_sigmask(
        signal.SIG_BLOCK, stops
    )  # a stop may come before the new process has its own way with them
    child = os.fork()
    if child:
        os.close(gone)
        os.waitpid(child, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    if os.fork():
        os._exit(0)
    os.close(held)
    for signum in stops:
        signal.signal(signum, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.read(gone, 1)
    with giving_back():
        pass
    os._exit(0)


def _is_described() -> bool:
    return "ENGINE_DOUBLE_MEMINFO" in os.environ and os.access(_meminfo_path(), os.W_OK)


@contextmanager
def _described_memory() -> Iterator[TextIO | None]:
    """The described memory for this process alone, or None where nothing is described."""
    if not _is_described():
        yield None
        return
    # A stop in the middle would lose what was taken. Written in place, because a bind mount shows the inode and not the name.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        with _meminfo_path().open("r+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _move(file: TextIO, kib: int, shared: bool) -> int:
    """Take so much out of the described memory; returns what is available then, in KiB."""
    file.seek(0)
    text = file.read()
    kib = min(kib, _available_kib(text))
    for name, sign in (("MemAvailable", -1), ("MemFree", -1), ("Shmem" if shared else "AnonPages", 1)):
        text = _moved(text, name, sign * kib)
    file.seek(0)
    file.write(text)
    file.truncate()
    file.flush()
    taken = _taken_kib[shared]
    taken[:] = (int.from_bytes(taken[:], "little") + kib).to_bytes(8, "little")
    return _available_kib(text)


def _moved(text: str, name: str, kib: int) -> str:
    def replace(match: re.Match[str]) -> str:
        return f"{match.group(1)}{max(0, int(match.group(2)) + kib):>{len(match.group(2))}} kB"

    return re.sub(rf"^({name}:\s+)(\d+) kB", replace, text, flags=re.MULTILINE)


def cgroup_headroom_bytes() -> int:
    """What SGLang 0.5.23 logs as cgroup headroom; without a limit it is what fits a signed 64-bit integer of pages."""
    try:
        relative = Path("/proc/self/cgroup").read_text(encoding="utf-8").strip().rpartition(":")[2].lstrip("/")
        directory = Path("/sys/fs/cgroup") / relative
        limit = (directory / "memory.max").read_text(encoding="utf-8").strip()
        if limit != "max":
            return int(limit) - int((directory / "memory.current").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        pass
    return (1 << 63) - 4096
