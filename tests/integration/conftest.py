# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What integration tests share, and how two workers share the tests (`pytest --numprocesses 2 --dist loadgroup --no-loadscope-reorder`)."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from ansible_collections.blackwell.inference.tests.testhost import host as hosts
from ansible_collections.blackwell.inference.tests.testhost import vm as vms
from ansible_collections.blackwell.inference.tests.testhost.image import SUITES
from ansible_collections.blackwell.inference.tests.testhost.site import Site, this_site

PR_SET_PDEATHSIG = 1
GROUPS = {
    "second run": ("loop/test_second_run.py",),
    "kimi": ("loop/test_gpus_held.py", "loop/test_killed.py"),
    "signals": (
        "release/test_killer.py",
        "release/test_proxmox_below.py",
        "release/test_proxmox_gpu_guests.py",
        "release/test_situations.py",
        "release/test_tracer.py",
    ),
    "untouched": ("loop/test_bad_input.py", "loop/test_virgin_check.py"),
    "vm": (
        "release/test_kernel_log.py::test_the_kernel_log_of_a_machine",
        "release/test_major_195.py",
        "test_unit_effects.py",
        "test_vm.py",
    ),
    "testhost": ("release/test_kernel_log.py", "test_testhost.py"),
}
"""Tests that share a machine, or trace the signals of this one, go to one worker, in this order: a machine is made once, and nobody else changes it.

Every other file is a group of its own, after these. The long ones begin first, so that both workers end at about the same time.
"""


def pytest_configure(config: pytest.Config) -> None:
    """A worker dies with the run: it would go on for some seconds, and what it owns would not be garbage to the next run."""
    if hasattr(config, "workerinput"):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def group_of(nodeid: str) -> str:
    below = nodeid.removeprefix("tests/integration/")
    for group, beginnings in GROUPS.items():
        if below.startswith(beginnings):
            return group
    return below.partition("::")[0]


class ByMachine(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByMachine | None:
    """xdist's own `loadgroup` does not see the marks with pytest 9.2, and says nothing."""
    return ByMachine(config, log) if config.getvalue("dist") == "loadgroup" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = [*GROUPS]
    items.sort(key=lambda item: order.index(group) if (group := group_of(item.nodeid)) in GROUPS else len(order))


@pytest.fixture(scope="session")
def site() -> Site:
    """This checkout's place for hosts, cleared of those that an earlier run left when it was killed."""
    site = this_site()
    hosts.gc(site)
    vms.gc(site)
    return site


@pytest.fixture(scope="session", params=SUITES)
def testhost(request: pytest.FixtureRequest, site: Site) -> Iterator[hosts.Host]:
    """A booted host of each suite, shared by all tests of the session: a test puts back what it changes."""
    pid = os.getpid()
    host = hosts.up(site, f"pytest-{request.param}-{pid}", request.param, owner_pid=pid)
    yield host
    hosts.down(host)


@pytest.fixture(scope="session")
def vm(site: Site) -> Iterator[vms.Vm]:
    """The small virtual machine, from its snapshot; seconds for each command, so few of them."""
    pid = os.getpid()
    machine = vms.up(site, f"pytest-{pid}", owner_pid=pid)
    yield machine
    vms.down(machine)
