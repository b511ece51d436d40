# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The user that the engine runs as: good for that and for nothing else."""

from __future__ import annotations

from testinfra.host import Host

from ansible_collections.blackwell.inference.tests.hosts.deploy import instance


def test_user_is_a_system_user(host: Host) -> None:
    assert 0 < host.user(instance.USER).uid < 1000


def test_user_has_no_shell(host: Host) -> None:
    assert host.user(instance.USER).shell == "/usr/sbin/nologin"


def test_user_has_no_home(host: Host) -> None:
    assert host.user(instance.USER).home == "/nonexistent"


def test_user_has_no_password(host: Host) -> None:
    locked = host.run("passwd --status %s", instance.USER).stdout.split()[1:2]
    assert locked == ["L"]


def test_user_is_in_no_group_but_its_own(host: Host) -> None:
    assert host.user(instance.USER).groups == [instance.USER]


def test_user_owns_nothing_but_its_cache(host: Host) -> None:
    owned = host.check_output("find / -xdev -user %s -not -path %s", instance.USER, f"{instance.CACHES}/*")
    assert owned.splitlines() == []
