# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where nothing can be read, and with what: refusals before a guest is looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import ObservationError, ReleaseError
from ansible_collections.blackwell.inference.plugins.module_utils.observe.files import HostFiles
from ansible_collections.blackwell.inference.plugins.module_utils.proxmox.host import require_proxmox, scan_with


@pytest.mark.parametrize(
    ("commands", "seen"),
    [
        ((), "no pct and no qm is on PATH"),
        (("pct",), "no qm is on PATH"),
        (("pct", "qm"), "/etc/pve is not there"),
    ],
)
def test_another_host(tmp_path: Path, commands: tuple[str, ...], seen: str):
    with pytest.raises(ObservationError) as refused:
        require_proxmox(HostFiles(str(tmp_path)), lambda name: name in commands)
    assert str(refused.value) == (
        f"This is not a Proxmox VE host: {seen}. Guests and their GPUs can only be seen on the host itself: delegate this task to it."
    )


def test_a_proxmox_host(tmp_path: Path):
    (tmp_path / "etc/pve").mkdir(parents=True)
    require_proxmox(HostFiles(str(tmp_path)), lambda name: True)


def test_a_search_without_time_sees_nobody():
    with pytest.raises(ReleaseError, match=r"^scan_timeout_seconds is 0: more than 0 was expected\.$"):
        scan_with(0)
