# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA GPUs as the PCI bus shows them, with or without a driver. Private to the collection, may change any time."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .files import HostFiles

_DEVICES = "/sys/bus/pci/devices"
_NVIDIA = "0x10de"
_DISPLAY_CLASS = "0x03"  # 0300 with a display, 0302 without: the RTX PRO 6000 Server Edition is 0302
_ADDRESS = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?")


@dataclass(frozen=True)
class PciGpu:
    """`driver`: nvidia, vfio-pci, nouveau or None; `numa_node` is None in a VM, where the kernel says -1."""

    address: str
    device_id: str
    driver: str | None
    numa_node: int | None
    local_cpus: str | None
    iommu_group: int | None


def read_pci_gpus(files: HostFiles) -> tuple[PciGpu, ...]:
    return tuple(_gpu(files, address) for address in files.names(_DEVICES) if _is_gpu(files, f"{_DEVICES}/{address}"))


def pci_address(text: str) -> str:
    """As Linux writes it, "0000:c1:00.0", for "C1:00", "0000:c1:00" and NVML's "00000000:C1:00.0"; what is no address comes back as it is."""
    parts = _ADDRESS.fullmatch(text.strip().lower())
    if not parts:
        return text
    return f"{int(parts[1] or '0', 16):04x}:{parts[2]}:{parts[3]}.{parts[4] or '0'}"


def _is_gpu(files: HostFiles, home: str) -> bool:
    return files.text(f"{home}/vendor") == _NVIDIA and (files.text(f"{home}/class") or "").startswith(_DISPLAY_CLASS)


def _gpu(files: HostFiles, address: str) -> PciGpu:
    home = f"{_DEVICES}/{address}"
    node = files.number(f"{home}/numa_node")
    group = files.link_name(f"{home}/iommu_group")
    return PciGpu(
        address=address,
        device_id=f"{_NVIDIA[2:]}:{(files.text(f'{home}/device') or '')[2:]}",
        driver=files.link_name(f"{home}/driver"),
        numa_node=None if node is None or node < 0 else node,
        local_cpus=files.text(f"{home}/local_cpulist") or None,
        iommu_group=int(group) if group and group.isdigit() else None,
    )
