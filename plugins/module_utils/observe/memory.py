# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host memory: in all, per NUMA node, huge pages, swap, the ZFS cache, and segments below /dev/shm. Private to the collection, may change any time."""

from __future__ import annotations

import os
import re
import stat
import warnings
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from .files import HostFiles, kstat, meminfo

DIRECTORY = "/dev/shm"

HANDED_OVER_SECONDS = 600.0
"""The engine's tokenizer fills a segment, closes it and sends its name to the scheduler, which opens it when it gets to that request: until then nobody
has it, and it is wanted."""


@dataclass(frozen=True)
class Segment:
    """One file of shared memory. `modified`: seconds since 1970. `referenced`: some process has it open or mapped, or may be
    about to, or nobody could be sure.
    """

    path: str
    size_bytes: int
    uid: int
    inode: int
    modified: float
    referenced: bool = True


def read_segments(directory: str = DIRECTORY) -> tuple[Segment, ...]:
    """All that is there, taken as referenced: processes have to be asked after this, not before."""
    return tuple(_segments(Path(directory)))


def device_of(directory: str = DIRECTORY) -> tuple[int, int] | None:
    """Number of the file system that holds the segments."""
    try:
        found = os.stat(directory).st_dev
    except OSError:
        return None
    return os.major(found), os.minor(found)


def marked(
    segments: tuple[Segment, ...], referenced: Container[int], users: Container[int], now: float
) -> tuple[Segment, ...]:
    """With what was learnt: the inodes that some process has, and the users that have a process at all; `now` is in seconds since 1970."""

    def wanted(item: Segment) -> bool:
        return item.inode in referenced or (item.uid in users and item.modified > now - HANDED_OVER_SECONDS)

    return tuple(replace(item, referenced=wanted(item)) for item in segments)


def _segments(directory: Path) -> Iterator[Segment]:
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return
    for name in names:
        path = directory / name
        try:
            found = path.lstat()
        except OSError:
            continue
        if stat.S_ISREG(found.st_mode):
            yield Segment(str(path), found.st_size, found.st_uid, found.st_ino, found.st_mtime)


_NODES = "/sys/devices/system/node"
_NODE_NAME = re.compile(r"^node(\d+)$")
_PAGE_NAME = re.compile(r"^hugepages-(\d+)kB$")


@dataclass(frozen=True)
class HugePages:
    """Reserved huge pages of one size on one NUMA node; `node` is None where the kernel shows no nodes."""

    size_bytes: int
    total: int
    free: int
    node: int | None


@dataclass(frozen=True)
class NumaNode:
    node: int
    total_bytes: int
    free_bytes: int
    cpus: str


@dataclass(frozen=True)
class Memory:
    """`zfs_arc_bytes` is what the ZFS cache holds now: MemAvailable counts it as taken, though ZFS gives most of it back."""

    total_bytes: int
    available_bytes: int
    free_bytes: int
    cached_bytes: int
    shmem_bytes: int
    swap_total_bytes: int
    swap_free_bytes: int
    zfs_arc_bytes: int
    zfs_arc_min_bytes: int
    zfs_arc_max_bytes: int
    transparent_huge_pages: str | None
    huge_pages: tuple[HugePages, ...]
    numa_nodes: tuple[NumaNode, ...]


def read_memory(files: HostFiles) -> Memory:
    import psutil  # from the toolbox: not there before the module has looked for it

    # psutil knows what to make of a kernel without MemAvailable and of a container whose MemAvailable exceeds its total.
    psutil.PROCFS_PATH = files.path("/proc")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # it warns of each line that a container's meminfo lacks
        virtual = psutil.virtual_memory()
    lines = meminfo(files.text("/proc/meminfo"))
    arc = kstat(files.text("/proc/spl/kstat/zfs/arcstats"))
    return Memory(
        total_bytes=virtual.total,
        available_bytes=virtual.available,
        free_bytes=virtual.free,
        cached_bytes=virtual.cached,
        shmem_bytes=lines.get("Shmem", 0),
        swap_total_bytes=lines.get("SwapTotal", 0),
        swap_free_bytes=lines.get("SwapFree", 0),
        zfs_arc_bytes=arc.get("size", 0),
        zfs_arc_min_bytes=arc.get("c_min", 0),
        zfs_arc_max_bytes=arc.get("c_max", 0),
        transparent_huge_pages=_bracketed(files.text("/sys/kernel/mm/transparent_hugepage/enabled")),
        huge_pages=_huge_pages(files),
        numa_nodes=_numa_nodes(files),
    )


def _bracketed(text: str | None) -> str | None:
    """The chosen word of a sysfs choice, for example `madvise` of `always [madvise] never`."""
    found = re.search(r"\[(\w+)\]", text or "")
    return found[1] if found else None


def _nodes(files: HostFiles) -> tuple[int, ...]:
    found = (_NODE_NAME.match(name) for name in files.names(_NODES))
    return tuple(sorted(int(match[1]) for match in found if match))


def _numa_nodes(files: HostFiles) -> tuple[NumaNode, ...]:
    nodes = []
    for node in _nodes(files):
        lines = meminfo(files.text(f"{_NODES}/node{node}/meminfo"))
        cpus = files.text(f"{_NODES}/node{node}/cpulist") or ""
        nodes.append(NumaNode(node, lines.get("MemTotal", 0), lines.get("MemFree", 0), cpus))
    return tuple(nodes)


def _huge_pages(files: HostFiles) -> tuple[HugePages, ...]:
    homes: list[tuple[int | None, str]] = [(node, f"{_NODES}/node{node}/hugepages") for node in _nodes(files)]
    homes = homes or [(None, "/sys/kernel/mm/hugepages")]
    pages = []
    for node, home in homes:
        sizes = (_PAGE_NAME.match(name) for name in files.names(home))
        for size_kib in sorted(int(match[1]) for match in sizes if match):
            folder = f"{home}/hugepages-{size_kib}kB"
            total, free = files.number(f"{folder}/nr_hugepages"), files.number(f"{folder}/free_hugepages")
            pages.append(HugePages(size_kib * 1024, total or 0, free or 0, node))
    return tuple(pages)
