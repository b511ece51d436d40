# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory of a host, from recorded and written files."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.memory import HugePages, NumaNode, read_memory

MEMINFO = """\
MemTotal:       1000000 kB
MemFree:         600000 kB
MemAvailable:    800000 kB
Buffers:          10000 kB
Cached:          150000 kB
SReclaimable:     40000 kB
Shmem:            25000 kB
SwapTotal:        70000 kB
SwapFree:         50000 kB
HugePages_Total:      3
Hugepagesize:      2048 kB
"""
NODE = "/sys/devices/system/node"


def test_the_host_in_all(make_host):
    memory = read_memory(make_host({"/proc/meminfo": MEMINFO}))
    assert memory.total_bytes == 1000000 * 1024
    assert memory.available_bytes == 800000 * 1024
    assert memory.free_bytes == 600000 * 1024
    assert memory.cached_bytes == 190000 * 1024  # page cache and what the kernel's caches would give back
    assert memory.shmem_bytes == 25000 * 1024
    assert (memory.swap_total_bytes, memory.swap_free_bytes) == (70000 * 1024, 50000 * 1024)
    assert (memory.zfs_arc_bytes, memory.zfs_arc_min_bytes, memory.zfs_arc_max_bytes) == (0, 0, 0)
    assert (memory.huge_pages, memory.numa_nodes, memory.transparent_huge_pages) == ((), (), None)


def test_a_container_that_shows_more_available_than_total_has_what_is_free(make_host):
    """lxcfs gives the container's total beside figures of its host."""
    memory = read_memory(make_host({"/proc/meminfo": MEMINFO.replace("800000", "9000000")}))
    assert memory.available_bytes == memory.free_bytes


def test_the_zfs_cache(make_host):
    host = make_host({"/proc/meminfo": MEMINFO}, recorded="zfs")
    memory = read_memory(host)
    assert memory.zfs_arc_bytes == 1603939792
    assert memory.zfs_arc_min_bytes == 33554432
    assert memory.zfs_arc_max_bytes == 8367976448


def test_nodes_with_their_memory_cpus_and_huge_pages(make_host):
    memory = read_memory(
        make_host(
            {
                "/proc/meminfo": MEMINFO,
                f"{NODE}/node0/meminfo": "Node 0 MemTotal:  500000 kB\nNode 0 MemFree:  100000 kB\n",
                f"{NODE}/node0/cpulist": "0-3,8-11\n",
                f"{NODE}/node0/hugepages/hugepages-2048kB/nr_hugepages": "5\n",
                f"{NODE}/node0/hugepages/hugepages-2048kB/free_hugepages": "2\n",
                f"{NODE}/node0/hugepages/hugepages-1048576kB/nr_hugepages": "1\n",
                f"{NODE}/node0/hugepages/hugepages-1048576kB/free_hugepages": "1\n",
                f"{NODE}/node10/meminfo": "Node 10 MemTotal:  400000 kB\nNode 10 MemFree:  90000 kB\n",
                f"{NODE}/node10/cpulist": "\n",
                f"{NODE}/online": "0,10\n",
                "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "5\n",
            }
        )
    )
    assert memory.numa_nodes == (
        NumaNode(0, 500000 * 1024, 100000 * 1024, "0-3,8-11"),
        NumaNode(10, 400000 * 1024, 90000 * 1024, ""),
    )
    assert memory.huge_pages == (HugePages(2 << 20, 5, 2, 0), HugePages(1 << 30, 1, 1, 0))


def test_huge_pages_of_a_host_without_nodes(make_host):
    home = "/sys/kernel/mm/hugepages/hugepages-2048kB"
    files = make_host({"/proc/meminfo": MEMINFO, f"{home}/nr_hugepages": "7", f"{home}/free_hugepages": "6"})
    assert read_memory(files).huge_pages == (HugePages(2 << 20, 7, 6, None),)


@pytest.mark.parametrize(
    ("text", "chosen"), [("always [madvise] never\n", "madvise"), ("[always] madvise never\n", "always")]
)
def test_transparent_huge_pages(make_host, text, chosen):
    files = make_host({"/proc/meminfo": MEMINFO, "/sys/kernel/mm/transparent_hugepage/enabled": text})
    assert read_memory(files).transparent_huge_pages == chosen
