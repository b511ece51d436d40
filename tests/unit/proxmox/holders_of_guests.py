# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Holders that the tests of guests share."""

from __future__ import annotations

from ansible_collections.blackwell.inference.plugins.module_utils.observe.holders.scan import Holder
from ansible_collections.blackwell.inference.plugins.module_utils.observe.identity import Identity
from ansible_collections.blackwell.inference.plugins.module_utils.observe.pci import PciGpu
from ansible_collections.blackwell.inference.plugins.module_utils.proxmox.inventory import HostGpu

DRIVEN = HostGpu(PciGpu("0000:01:00.0", "10de:2bb5", "nvidia", 0, None, 18), "nvidia0", ("vfio/18",))
SECOND = HostGpu(PciGpu("0000:02:00.0", "10de:2bb5", "nvidia", 0, None, 19), "nvidia1", ("vfio/19",))
PASSED = HostGpu(PciGpu("0000:03:00.0", "10de:2bb5", "vfio-pci", 0, None, 20), None, ("vfio/20", "vfio/devices/vfio0"))
GPUS = (DRIVEN, SECOND, PASSED)


def holder(
    group: str,
    *nodes: str,
    pid: int = 4711,
    name: str = "rank",
    executable: str = "/usr/bin/python3.12",
    maps: tuple[str, ...] = (),
) -> Holder:
    return Holder(
        identity=Identity(pid, 1000, group, 100999, executable),
        name=name,
        state="S",
        live_threads=1,
        parent_pid=1,
        namespace_pids=(pid, 230),
        unit=None,
        container=None,
        started=0.0,
        devices={node: ("mapping",) if node in maps else ("descriptor",) for node in nodes},
    )
