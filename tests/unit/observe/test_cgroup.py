# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which memory limit binds. Formats: proc_pid_cgroup(5), proc_pid_mountinfo(5), the kernel's cgroup-v2.rst and cgroup-v1/memory.rst."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.cgroup import Cgroup, read_cgroup

V2 = "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = "35 31 0:32 {root} /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory\n"
V1_NO_LIMIT = "9223372036854771712\n"
GIB = 1 << 30


def v2(groups: dict[str, dict[str, str]], own: str = "/system.slice/a.service") -> dict[str, str]:
    files = {"/proc/self/cgroup": f"0::{own}\n", "/proc/self/mountinfo": V2}
    return files | {
        f"/sys/fs/cgroup{group}/{name}": text for group, values in groups.items() for name, text in values.items()
    }


CASES = {
    "nothing binds": (
        v2({"/system.slice/a.service": {"memory.max": "max\n", "memory.high": "max\n"}}),
        Cgroup(2, None, None, None, None),
    ),
    "the smallest limit on the way up": (
        v2(
            {
                "/system.slice/a.service": {"memory.max": f"{64 * GIB}\n", "memory.current": "1"},
                "/system.slice": {"memory.max": f"{32 * GIB}\n", "memory.current": f"{5 * GIB}\n"},
            }
        ),
        Cgroup(2, 32 * GIB, 5 * GIB, "/system.slice", None),
    ),
    "a container's own root, throttled just below the limit as Proxmox does": (
        v2(
            {"/": {"memory.max": f"{32 * GIB}", "memory.high": f"{31 * GIB}", "memory.current": f"{2 * GIB}"}},
            own="/.lxc",
        ),
        Cgroup(2, 32 * GIB, 2 * GIB, "/", 31 * GIB),
    ),
    "pages of files that can be dropped": (
        v2(
            {
                "/system.slice/a.service": {
                    "memory.max": "100",
                    "memory.current": "60",
                    "memory.stat": "anon 10\nfile 45\ninactive_file 30\nactive_file 5\nshmem 10\n",
                }
            }
        ),
        Cgroup(2, 100, 60, "/system.slice/a.service", None, 35),
    ),
    "the root itself": (v2({"/": {"memory.max": "7", "memory.current": "3"}}, own="/"), Cgroup(2, 7, 3, "/", None)),
    "another namespace's group": (
        v2({"/": {"memory.max": "7", "memory.current": "3"}}, own="/../../exec"),
        Cgroup(2, 7, 3, "/", None),
    ),
    "version 1 without a limit": (
        {
            "/proc/self/cgroup": "4:memory:/user.slice\n0::/\n",
            "/proc/self/mountinfo": V1.format(root="/"),
            "/sys/fs/cgroup/memory/user.slice/memory.limit_in_bytes": V1_NO_LIMIT,
            "/sys/fs/cgroup/memory/memory.limit_in_bytes": V1_NO_LIMIT,
        },
        Cgroup(1, None, None, None, None),
    ),
    "version 1 in a container that shows only its own group": (
        {
            "/proc/self/cgroup": "5:devices:/docker/c0ffee\n4:memory:/docker/c0ffee\n0::/docker/c0ffee\n",
            "/proc/self/mountinfo": V1.format(root="/docker/c0ffee") + V2,
            "/sys/fs/cgroup/memory/memory.limit_in_bytes": f"{8 * GIB}\n",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes": f"{GIB}\n",
            "/sys/fs/cgroup/memory/memory.stat": "active_file 1\ntotal_active_file 4096\ntotal_inactive_file 8192\n",
        },
        Cgroup(1, 8 * GIB, GIB, "/", None, 12288),
    ),
    "no control groups": ({}, Cgroup(None, None, None, None, None)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_limit_that_binds(make_host, name):
    files, expected = CASES[name]
    host = make_host(files)
    assert read_cgroup(host) == expected
    assert host.unread == ()


def test_a_container_that_lists_version_1_but_cannot_see_it_is_read_by_version_2(make_host):
    host = make_host({"/sys/fs/cgroup/cgroup.controllers": "\n"}, recorded="nspawn-on-hybrid")
    assert read_cgroup(host) == Cgroup(2, None, None, None, None)
