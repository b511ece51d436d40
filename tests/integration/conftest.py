# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What integration tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from ansible_collections.blackwell.inference.tests.testhost import host as hosts
from ansible_collections.blackwell.inference.tests.testhost import vm as vms
from ansible_collections.blackwell.inference.tests.testhost.image import SUITES
from ansible_collections.blackwell.inference.tests.testhost.site import Site, this_site


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
