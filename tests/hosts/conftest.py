# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of all scenarios share: the hosts, and the journal beside a failure."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import pytest
from testinfra.host import Host

from ansible_collections.blackwell.inference.tests.hosts.connection import connect, disconnect, names, running
from ansible_collections.blackwell.inference.tests.hosts.unit import Unit
from ansible_collections.blackwell.inference.tests.testhost import host as hosts


@pytest.fixture(scope="session", params=names())
def machine(request: pytest.FixtureRequest) -> hosts.Host:
    """Each host of the inventory in turn, as its maker knows it."""
    return running(request.param)


@pytest.fixture(scope="session")
def host(machine: hosts.Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """The same host for testinfra, in place of the fixture that testinfra brings."""
    control = tmp_path_factory.mktemp(machine.name) / "control"
    yield connect(machine, control)
    disconnect(machine, control)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test about a unit that fails prints what the unit said."""
    report = yield
    if report.failed:
        for unit in getattr(item, "funcargs", {}).values():
            if isinstance(unit, Unit):
                report.sections.append((f"end of the journal of {unit.name}", journal_or_why_not(unit)))
    return report


def journal_or_why_not(unit: Unit) -> str:
    try:
        return unit.journal()
    except RuntimeError as error:  # ssh gave up: the failure itself is still to be reported
        return f"The journal could not be read: {error}"
