# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No scenario disturbs the system that it works on."""

from __future__ import annotations

import pytest
from testinfra.host import Host

from ansible_collections.blackwell.inference.tests.hosts.listing import Listing, listing

MODES = {
    "/": "0755",
    "/boot": "0755",
    "/dev/shm": "1777",
    "/etc": "0755",
    "/etc/apt": "0755",
    "/etc/default": "0755",
    "/etc/systemd": "0755",
    "/etc/systemd/system": "0755",
    "/home": "0755",
    "/opt": "0755",
    "/root": "0700",
    "/run": "0755",
    "/tmp": "1777",
    "/usr": "0755",
    "/usr/bin": "0755",
    "/usr/lib": "0755",
    "/usr/local": "0755",
    "/usr/local/bin": "0755",
    "/usr/local/lib": "0755",
    "/usr/sbin": "0755",
    "/usr/share": "0755",
    "/var": "0755",
    "/var/cache": "0755",
    "/var/lib": "0755",
    "/var/log": "0755",
    "/var/tmp": "1777",
}
TREES = ("/boot", "/etc", "/opt", "/root", "/usr")
# Files that play the machine which a test host is dressed as; some are written by whoever plays a part.
PLAYED = "/usr/local/lib/testhost"


each_directory = pytest.mark.parametrize("path", MODES)


@pytest.fixture(scope="session")
def directories(host: Host) -> Listing:
    return listing(host, MODES)


@each_directory
def test_system_directory_is_still_one(directories: Listing, path: str) -> None:
    assert directories[path].kind == "directory"


@each_directory
def test_system_directory_belongs_to_root(directories: Listing, path: str) -> None:
    assert (directories[path].user, directories[path].group) == ("root", "root")


@each_directory
def test_system_directory_has_the_mode_that_debian_gave_it(directories: Listing, path: str) -> None:
    assert directories[path].mode == MODES[path]


@pytest.mark.parametrize("tree", TREES)
def test_root_owns_everything_below(host: Host, tree: str) -> None:
    assert found(host, tree, "! -user root") == []


@pytest.mark.parametrize("tree", TREES)
def test_only_root_may_write_below(host: Host, tree: str) -> None:
    assert found(host, tree, r"! -type l \( -perm -0002 -o -perm -0020 ! -group root \)") == []


def test_no_unit_failed(host: Host) -> None:
    assert host.check_output("systemctl list-units --failed --plain --no-legend") == ""


def found(host: Host, tree: str, condition: str) -> list[str]:
    """Mode, owner and path of each file that meets a condition."""
    command = f"find %s -xdev -path %s -prune -o {condition} -printf '%%M %%u:%%g %%p\\n'"
    return list(host.check_output(command, tree, PLAYED).splitlines())
