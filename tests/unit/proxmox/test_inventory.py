# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose a holder is, which GPUs it has, and what it is inside."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.proxmox.inventory import (
    Guest,
    HostInventory,
    attribute,
    inside_uid,
)
from ansible_collections.blackwell.inference.plugins.module_utils.proxmox.state import (
    GuestGpuState,
    ProxmoxRequest,
    occupies,
    selected,
)
from ansible_collections.blackwell.inference.tests.unit.proxmox.holders_of_guests import GPUS, holder

CONTAINER = Guest(101, "lxc", "inference", True, given=("0000:01:00.0",))
VM = Guest(201, "qemu", "vm", True, given=("0000:03:00.0",))


def seen(process, uids=None):
    return attribute([process], GPUS, (CONTAINER, VM), uids or {})[0]


@pytest.mark.parametrize(
    ("group", "vmid", "unit"),
    [
        ("/lxc/101/ns/system.slice/sglang.service", 101, "sglang.service"),
        ("/lxc/101/system.slice/sglang.service/tasks", 101, "sglang.service"),
        ("/lxc.payload.101/init.scope", 101, "init.scope"),
        ("/lxc/101/ns/system.slice/docker-0123.scope", 101, "docker-0123.scope"),
        ("/lxc/101", 101, None),
        ("/lxc/1011/ns/init.scope", 1011, "init.scope"),
        ("/lxc.monitor/101", None, None),
        ("/qemu.slice/201.scope", 201, None),
        ("/system.slice/sglang.service", None, None),
        ("/system.slice/lxc/101/sglang.service", None, None),
        ("/", None, None),
    ],
)
def test_whose_it_is_says_its_control_group(group, vmid, unit):
    held = seen(holder(group, "nvidia0"))
    assert (held.vmid, held.unit) == (vmid, unit)


@pytest.mark.parametrize(
    ("group", "nodes", "addresses"),
    [
        ("/lxc/101/ns", ("nvidia0", "nvidia-uvm"), ("0000:01:00.0",)),
        ("/lxc/101/ns", ("nvidia-uvm",), ("0000:01:00.0",)),
        ("/lxc/102/ns", ("nvidia-uvm",), ("0000:01:00.0", "0000:02:00.0")),
        ("/system.slice/x.service", ("nvidia-uvm",), ("0000:01:00.0", "0000:02:00.0")),
        ("/lxc/101/ns", ("nvidiactl",), ()),
        ("/qemu.slice/201.scope", ("vfio/20",), ("0000:03:00.0",)),
        ("/qemu.slice/201.scope", ("vfio/devices/vfio0",), ("0000:03:00.0",)),
    ],
)
def test_which_gpus_it_has(group, nodes, addresses):
    assert seen(holder(group, *nodes)).addresses == addresses


@pytest.mark.parametrize(
    ("process", "expected"),
    [
        (holder("/", "nvidia0", "nvidia-uvm"), True),
        (holder("/", "nvidia0", maps=("nvidia0",)), True),
        (holder("/", "nvidia0", "nvidiactl"), False),
        (holder("/", "nvidia0", "nvidiactl", maps=("nvidiactl",)), False),
        (holder("/qemu.slice/201.scope", "vfio/20", executable="/usr/bin/qemu-system-x86_64"), True),
        (holder("/", "nvidia0", "nvidia-uvm", executable="/usr/bin/nv-hostengine"), False),
        (holder("/", "nvidia0", "nvidia-uvm", executable="/usr/bin/nvidia-cuda-mps-server"), True),
    ],
)
def test_what_keeps_a_gpu_from_being_free(process, expected):
    assert occupies(seen(process)) is expected


def test_the_user_inside():
    unprivileged = "         0     100000      65536\n"
    assert inside_uid(100999, unprivileged) == 999
    assert inside_uid(0, unprivileged) is None
    assert inside_uid(1000, "         0          0 4294967295\n") == 1000
    assert inside_uid(1000, "") is None
    mapped = "0 100000 1000\n1000 1000 1\n1001 101001 64535\n"
    assert [inside_uid(uid, mapped) for uid in (100000, 1000, 101001, 165535)] == [0, 1000, 1001, 65535]


def test_a_vm_of_a_pool_has_what_it_holds():
    host = HostInventory(GPUS, (CONTAINER, VM), ())
    pool = Guest(202, "qemu", None, True, given=("0000:02:00.0", "0000:03:00.0"))
    assert host.gpus_of(pool) == ("0000:02:00.0", "0000:03:00.0")
    held = attribute([holder("/qemu.slice/202.scope", "vfio/20")], GPUS, (pool,), {})
    assert HostInventory(GPUS, (pool,), held).gpus_of(pool) == ("0000:03:00.0",)


@pytest.mark.parametrize(
    ("unit", "user", "pids"),
    [
        (None, None, [1, 2, 3]),
        ("a.service", None, [1, 2]),
        ("a.service", 999, [1]),
        (None, 998, [2, 3]),
        (".service", None, []),
        ("101", None, []),
        (None, 0, []),
    ],
)
def test_what_may_be_ended_by_itself(unit, user, pids):
    """A watcher, MPS, and whoever belongs to another guest never."""
    cuda = ("nvidia0", "nvidia-uvm")
    processes = [
        holder("/lxc/101/ns/system.slice/a.service", *cuda, pid=1),
        holder("/lxc/101/ns/system.slice/a.service/b", *cuda, pid=2),
        holder("/lxc/101/ns/system.slice/c.service", *cuda, pid=3),
        holder("/lxc/101/ns/system.slice/a.service", "nvidia0", pid=4),
        holder("/lxc/101/ns/system.slice/a.service", *cuda, pid=5, executable="/usr/bin/nvidia-cuda-mps-server"),
        holder("/lxc/102/ns/system.slice/a.service", *cuda, pid=6),
        holder("/system.slice/a.service", *cuda, pid=7),
    ]
    uids = {1: 999, 2: 998, 3: 998, 5: 999, 6: 999}
    host = HostInventory(GPUS, (CONTAINER,), attribute(processes, GPUS, (CONTAINER,), uids))
    state = GuestGpuState(host, CONTAINER, ("0000:01:00.0",))
    assert [held.pid for held in selected(state, ProxmoxRequest(101, ("0000:01:00.0",), unit=unit, user=user))] == pids


def test_the_group_of_a_unit():
    held = seen(holder("/lxc/101/ns/system.slice/a.service/b/c", "nvidia0"))
    assert held.group_of("a.service") == "/lxc/101/ns/system.slice/a.service"
