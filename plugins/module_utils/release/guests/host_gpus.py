# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPUs of a Proxmox VE host and the device nodes through which they are held. Private to the collection, may change any time."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass

from ...observe.files import HostFiles
from ...observe.pci import PciGpu, read_pci_gpus

_MINOR = re.compile(r"^Device Minor:\s*(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class HostGpu:
    """`device`: its node of the nvidia driver ("nvidia0"), None without that driver. `passed`: names below /dev of the nodes that a VM's process opens to
    have it: "vfio/17" by IOMMU group, "vfio/devices/vfio0" by iommufd."""

    pci: PciGpu
    device: str | None
    passed: tuple[str, ...]

    @property
    def address(self) -> str:
        return self.pci.address

    @property
    def nodes(self) -> frozenset[str]:
        return frozenset(self.passed + ((self.device,) if self.device else ()))


def read_host_gpus(files: HostFiles) -> tuple[HostGpu, ...]:
    return tuple(_gpu(files, pci) for pci in read_pci_gpus(files))


def passed_numbers(files: HostFiles, gpus: tuple[HostGpu, ...]) -> dict[tuple[int, int], str]:
    """Device number to name of each node that is there; by number, as for the driver's nodes, because the path that a process opened tells nothing."""
    numbers = {}
    for gpu in gpus:
        for name in gpu.passed:
            try:
                node = os.stat(files.path(f"/dev/{name}"))
            except OSError:
                continue  # made when the device is bound to vfio, gone when it is not
            if stat.S_ISCHR(node.st_mode):
                numbers[(os.major(node.st_rdev), os.minor(node.st_rdev))] = name
    return numbers


def _gpu(files: HostFiles, pci: PciGpu) -> HostGpu:
    minor = _MINOR.search(files.text(f"/proc/driver/nvidia/gpus/{pci.address}/information") or "")
    group = () if pci.iommu_group is None else (f"vfio/{pci.iommu_group}",)
    own = tuple(f"vfio/devices/{name}" for name in files.names(f"/sys/bus/pci/devices/{pci.address}/vfio-dev"))
    return HostGpu(pci, f"nvidia{minor[1]}" if minor and pci.driver == "nvidia" else None, group + own)
