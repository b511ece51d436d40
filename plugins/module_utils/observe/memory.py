# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host memory: in all, per NUMA node, huge pages, swap, the ZFS cache. Private to the collection, may change any time."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

from .files import HostFiles
from .keyed import kstat, meminfo

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
