# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel and the processors: release, command line, IOMMU, the modules that drive or hide GPUs. Private to the collection, may change any time."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .files import HostFiles, colon_lines

_CPUS = "/sys/devices/system/cpu"


@dataclass(frozen=True)
class Cpu:
    """`physical` and `sockets` are None where the kernel does not show the packages (some guests)."""

    model: str | None
    logical: int
    physical: int | None
    sockets: int | None


def read_cpu(files: HostFiles) -> Cpu:
    text = files.text("/proc/cpuinfo") or ""
    blocks = [colon_lines(block) for block in re.split(r"\n\s*\n", text)]
    processors = {int(block["processor"]): block for block in blocks if block.get("processor", "").isdigit()}
    cores = set()
    for number, block in processors.items():
        home = f"{_CPUS}/cpu{number}/topology"
        package = block.get("physical id") or files.text(f"{home}/physical_package_id")
        core = block.get("core id") or files.text(f"{home}/core_id")
        if package is not None and core is not None:
            cores.add((package, core))
    return Cpu(
        model=_model(processors[min(processors)]) if processors else None,
        logical=len(processors),
        physical=len(cores) or None,
        sockets=len({package for package, _core in cores}) or None,
    )


def _model(block: dict[str, str]) -> str | None:
    """x86 names its model; Arm gives numbers only."""
    if "CPU part" in block:
        return f"Arm implementer {block.get('CPU implementer')} part {block['CPU part']}"
    return block.get("model name")


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
