# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What integration tests share, and how two workers share the tests.

Tests that use the same machine stay together, in the order of their files: a machine is made once, and nobody else changes it. Such a group is a
file, unless its tests use a machine of the whole session, or a mark `xdist_group` names another.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from ansible_collections.blackwell.inference.tests.testhost import host as hosts
from ansible_collections.blackwell.inference.tests.testhost import vm as vms
from ansible_collections.blackwell.inference.tests.testhost.image import SUITES
from ansible_collections.blackwell.inference.tests.testhost.site import Site, this_site

SHARED_MACHINES = ("vm", "testhost", "untouched", "kimi")
"""Fixtures of the whole session."""
# The long ones begin first, so that both workers end at about the same time.
LONGEST_FIRST = ("second run", "kimi", "signals", "untouched", "vm")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(machine_of(item)))
    items.sort(key=rank)


def machine_of(item: pytest.Item) -> str:
    """The shared machine that the test uses, or its file."""
    fixtures = getattr(item, "fixturenames", [])
    return next((name for name in SHARED_MACHINES if name in fixtures), item.path.stem)


def rank(item: pytest.Item) -> int:
    mark = item.get_closest_marker("xdist_group")
    return LONGEST_FIRST.index(mark.args[0]) if mark and mark.args[0] in LONGEST_FIRST else len(LONGEST_FIRST)


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
