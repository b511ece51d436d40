# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the files of a process say."""

from __future__ import annotations

import os

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.process import (
    Task,
    container_of,
    living_task,
    namespace_pids,
    read_task,
    task_of,
    tasks_of,
)

ID = "4f0c2a9b8d7e" + "0" * 52
STAT = "{pid} ({name}) {state} 1 77 77 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 {threads} 0 1234 0 0 0\n"


def stat(name: str = "python3", state: str = "S", threads: int = 1, flags: int = 0x400000) -> str:
    return STAT.format(pid=42, name=name, state=state, threads=threads, flags=flags)


@pytest.mark.parametrize("name", ["python3", "sglang::schedul", "a b", "x) R 1 (", ")", "a\nb", ""])
def test_a_name_may_hold_what_it_likes(name):
    assert read_task(stat(name)) == Task(name, "S", 1, 0x400000, 1, 1234)


@pytest.mark.parametrize("text", ["", "42 (x) S 1", "42 (x"])
def test_a_process_that_ends_while_it_is_read(text):
    assert read_task(text) is None


@pytest.mark.parametrize(
    ("text", "kernel", "ended", "live"),
    [
        (stat(), False, False, 1),
        (stat(threads=8), False, False, 8),
        (stat(state="Z", threads=2), False, True, 1),
        (stat(state="Z"), False, True, 0),
        (stat(state="D", flags=0x208040), True, False, 1),
    ],
)
def test_what_becomes_of_the_fields(text, kernel, ended, live):
    task = read_task(text)
    assert (task.is_kernel_thread, task.has_ended, task.live_threads) == (kernel, ended, live)


def test_our_own_process():
    me = os.getpid()
    task = task_of("/proc", me)
    assert (task.parent_pid, task.has_ended, task.is_kernel_thread) == (os.getppid(), False, False)
    assert me in tasks_of("/proc", me)
    assert living_task("/proc", me, task) == me


def test_no_process():
    assert (task_of("/proc", 0), tasks_of("/proc", 0)) == (None, [])


@pytest.mark.parametrize(
    ("status", "pids"),
    [("Name:\tx\nNSpid:\t4711\t27\t3\n", (4711, 27, 3)), ("NSpid:\t4711\n", (4711,)), ("Name:\tx\n", (4711,))],
)
def test_pids_from_ours_inwards(status, pids):
    assert namespace_pids(status, 4711) == pids


@pytest.mark.parametrize(
    ("cgroup", "container"),
    [
        ("0::/lxc/101/ns/system.slice/sglang.service", "lxc 101"),
        ("0::/lxc.payload.101/system.slice/x.service", "lxc 101"),
        ("0::/lxc.payload/web/x.scope", "lxc web"),
        ("0::/lxc.monitor/101", None),
        ("0::/lxc.monitor.101", None),
        ("0::/system.slice/lxcfs.service", None),
        (f"0::/system.slice/docker-{ID}.scope", "docker 4f0c2a9b8d7e"),
        (f"12:devices:/docker/{ID}\n0::/", "docker 4f0c2a9b8d7e"),
        (f"0::/lxc/101/ns/docker/{ID}", "lxc 101"),
        (f"0::/machine.slice/libpod-{ID}.scope/container", "podman 4f0c2a9b8d7e"),
        (f"0::/machine.slice/libpod-conmon-{ID}.scope", None),
        (f"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope", "containerd 4f0c2a9b8d7e"),
        (
            f"0::/system.slice/containerd.service/kubepods-besteffort-pod1.slice:cri-containerd:{ID}",
            "containerd 4f0c2a9b8d7e",
        ),
        (f"0::/kubepods.slice/kubepods-pod1.slice/crio-{ID}.scope", "cri-o 4f0c2a9b8d7e"),
        (f"11:memory:/kubepods/besteffort/pod1-2/{ID}", "kubernetes 4f0c2a9b8d7e"),
        (f"0::/of-an-operator/{ID}", "oci 4f0c2a9b8d7e"),
        ("0::/system.slice/sglang-kimi.service", None),
        ("0::/user.slice/user-1000.slice/session-2.scope", None),
        ("0::/../../lxc/102/init.scope", "lxc 102"),
        ("", None),
    ],
)
def test_the_container_is_told_by_the_control_group(cgroup, container):
    assert container_of(cgroup) == container
