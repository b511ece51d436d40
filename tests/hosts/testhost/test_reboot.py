# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After molecule/testhost/side_effect.yml rebooted it, a host is what a machine is after a reboot."""

from __future__ import annotations

import pytest
from testinfra.host import Host

from ansible_collections.blackwell.inference.tests.hosts.unit import Unit

BEFORE = "/var/lib/boot-id-before"
NOW = "/proc/sys/kernel/random/boot_id"


@pytest.fixture(scope="session")
def unit(host: Host) -> Unit:
    return Unit(host, "greeting.service")


def test_boot_id_is_a_new_one(host: Host) -> None:
    assert boot_id(host, NOW) != boot_id(host, BEFORE)


def test_systemd_calls_its_boot_done_without_a_failed_unit(host: Host) -> None:
    assert host.run("systemctl is-system-running").stdout.strip() == "running"


def test_unit_said_its_line_at_each_boot(unit: Unit) -> None:
    said = unit.host.check_output("journalctl --unit=%s --identifier=echo --output=cat", unit.name)
    assert said.splitlines() == [f"hello from boot {boot_id(unit.host, path)}" for path in (BEFORE, NOW)]


def test_unit_is_active(unit: Unit) -> None:
    assert unit.show("ActiveState") == "active"


def test_unit_starts_at_boot(unit: Unit) -> None:
    assert unit.show("UnitFileState") == "enabled"


def test_package_is_still_installed(host: Host) -> None:
    assert host.package("tree").is_installed


def boot_id(host: Host, path: str) -> str:
    """As systemd writes it."""
    return str(host.check_output("cat %s", path)).strip().replace("-", "")
