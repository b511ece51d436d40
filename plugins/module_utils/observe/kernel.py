# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel: release, command line, IOMMU, the modules that drive or hide GPUs. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass

from .files import HostFiles
from .keyed import colon_lines

GPU_MODULES = (
    "nvidia",
    "nvidia_uvm",
    "nvidia_modeset",
    "nvidia_drm",
    "nvidia_peermem",
    "gdrdrv",
    "nouveau",
    "nova_core",
    "vfio_pci",
)
_GROUPS = "/sys/kernel/iommu_groups"
# Values of iommu_groups/N/type (Documentation/ABI/testing/sysfs-kernel-iommu_groups).
_DOMAINS = {
    "identity": "passthrough",
    "DMA": "translated",
    "DMA-FQ": "translated",
    "blocked": "blocked",
    "unmanaged": "unmanaged",
}


@dataclass(frozen=True)
class KernelModule:
    name: str
    version: str | None
    parameters: dict[str, str]


@dataclass(frozen=True)
class Kernel:
    """`iommu_mode`: off, passthrough, translated, mixed or unknown (groups there, types not readable)."""

    release: str | None
    command_line: str | None
    iommu_mode: str
    iommu_groups: int
    modules: tuple[KernelModule, ...]


def read_kernel(files: HostFiles) -> Kernel:
    groups = files.names(_GROUPS)
    return Kernel(
        release=files.text("/proc/sys/kernel/osrelease"),
        command_line=files.text("/proc/cmdline"),
        iommu_mode=_iommu_mode(files, groups),
        iommu_groups=len(groups),
        modules=tuple(_module(files, name) for name in GPU_MODULES if files.exists(f"/sys/module/{name}")),
    )


def _iommu_mode(files: HostFiles, groups: tuple[str, ...]) -> str:
    if not groups:
        return "off"
    kinds = {_DOMAINS.get(text, text) for text in (files.text(f"{_GROUPS}/{group}/type") for group in groups) if text}
    if not kinds:
        return "unknown"
    return kinds.pop() if len(kinds) == 1 else "mixed"


def _module(files: HostFiles, name: str) -> KernelModule:
    home = f"/sys/module/{name}"
    parameters = {
        parameter: files.text(f"{home}/parameters/{parameter}") for parameter in files.names(f"{home}/parameters")
    }
    if name == "nvidia":
        # Its NVreg_ parameters are hidden from sysfs; the driver lists them here, without the prefix.
        parameters.update(
            {f"NVreg_{key}": value for key, value in colon_lines(files.text("/proc/driver/nvidia/params")).items()}
        )
    return KernelModule(
        name, files.text(f"{home}/version"), {key: value for key, value in parameters.items() if value is not None}
    )
