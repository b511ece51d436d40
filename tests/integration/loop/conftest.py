# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts that the loop is tried on: the design host, played by the doubles, with Kimi-K2.5 in holes instead of weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.tests.doubles.parts import make_parts
from ansible_collections.blackwell.inference.tests.integration.loop.machine import Machine, boot
from ansible_collections.blackwell.inference.tests.testhost import host as hosts
from ansible_collections.blackwell.inference.tests.testhost.site import Site


@pytest.fixture(scope="session")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = make_parts(tmp_path_factory.mktemp("srv"))
    for shown in (directory.parent, directory):
        shown.chmod(0o755)
    return directory


@pytest.fixture(scope="session")
def untouched(site: Site, parts: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine that no play may touch: every test on it proves that it did not."""
    machine = boot(site, "untouched", parts, tmp_path_factory.mktemp("untouched"))
    yield machine
    hosts.down(machine.host)


@pytest.fixture(scope="session")
def kimi(site: Site, parts: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine with Kimi-K2.5 deployed and verified, for tests that begin from whatever the one before left."""
    machine = boot(site, "kimi", parts, tmp_path_factory.mktemp("kimi"))
    machine.settle()
    yield machine
    hosts.down(machine.host)


@pytest.fixture
def deployed(kimi: Machine) -> Machine:
    """The same as it was deployed. A test that spoils it need not put it right: where the next one does not deploy anyway, this does."""
    kimi.settle()
    return kimi
