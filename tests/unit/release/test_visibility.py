# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much of the machine can be seen from here."""

from __future__ import annotations

import os

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.virtualisation import Virtualisation
from ansible_collections.blackwell.inference.plugins.module_utils.release.advice import Visibility, read_place


@pytest.mark.parametrize(
    ("namespace", "kind", "container", "guest"),
    [
        ("pid:[4026531836]", "bare_metal", False, False),
        ("pid:[4026531836]", "kvm", False, True),
        ("pid:[4026531836]", "docker", False, True),
        ("pid:[4026532201]", "lxc", True, False),
        ("pid:[4026532201]", "bare_metal", True, False),
        (None, "bare_metal", True, False),
    ],
    ids=[
        "host",
        "virtual machine",
        "container in the host's pid namespace",
        "container",
        "pid namespace alone",
        "untold",
    ],
)
def test_read_place(tmp_path, namespace, kind, container, guest):
    link = tmp_path / "pid"
    if namespace:
        link.symlink_to(namespace)
    visibility = read_place(Virtualisation(kind, True, ()), str(link))
    assert (visibility.container, visibility.guest) == (container, guest)
    assert visibility == Visibility(os.geteuid() == 0, not container, kind, True)


def test_the_real_link_can_be_read():
    assert os.readlink("/proc/self/ns/pid").startswith("pid:[")
    assert read_place(Virtualisation("bare_metal", False, ())).initial_pid_namespace == (
        os.stat("/proc/self/ns/pid").st_ino == 0xEFFFFFFC
    )
