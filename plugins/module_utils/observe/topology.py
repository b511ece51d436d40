# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole host as one value: what topology_facts returns. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from .cgroup import Cgroup, Memlock, read_cgroup, read_memlock
from .files import HostFiles, Unread
from .kernel import Cpu, Kernel, read_cpu, read_kernel
from .memory import Memory, read_memory
from .nvml.gpus import Driver, Gpu, Interconnect, NvmlReader
from .pci import PciGpu, read_pci_gpus
from .virtualisation import Virtualisation, read_virtualisation

SCHEMA = 1


@dataclass(frozen=True)
class HostTopology:
    schema: int
    gpus: tuple[Gpu, ...]
    interconnect: Interconnect
    driver: Driver
    pci_gpus: tuple[PciGpu, ...]
    memory: Memory
    cgroup: Cgroup
    memlock: Memlock
    cpu: Cpu
    virtualisation: Virtualisation
    kernel: Kernel
    unread: tuple[Unread, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def observe(files: HostFiles, nvml: NvmlReader, detected_virtualisation: str | None) -> HostTopology:
    reading = nvml.read()
    on_bus = read_pci_gpus(files)
    gpus = _addressed(reading.gpus, on_bus)
    if reading.driver.error is None:
        _note_unlisted(files, on_bus, gpus)
    return HostTopology(
        schema=SCHEMA,
        gpus=tuple(_placed(gpu, {device.address: device for device in on_bus}) for gpu in gpus),
        interconnect=reading.interconnect,
        driver=reading.driver,
        pci_gpus=on_bus,
        memory=read_memory(files),
        cgroup=read_cgroup(files),
        memlock=read_memlock(files),
        cpu=read_cpu(files),
        virtualisation=read_virtualisation(files, detected_virtualisation),
        kernel=read_kernel(files),
        unread=(*reading.unread, *files.unread),
    )


def _free_addresses(gpus: tuple[Gpu, ...], on_bus: tuple[PciGpu, ...]) -> list[str]:
    known = {gpu.pci_address for gpu in gpus}
    return sorted(device.address for device in on_bus if device.driver == "nvidia" and device.address not in known)


def _addressed(gpus: tuple[Gpu, ...], on_bus: tuple[PciGpu, ...]) -> tuple[Gpu, ...]:
    """A lost or hung GPU tells no address. NVML counts GPUs in the order of the bus, so what the others leave over is theirs."""
    nameless = [gpu for gpu in gpus if gpu.pci_address is None]
    free = _free_addresses(gpus, on_bus)
    if len(nameless) != len(free):
        return gpus
    found = {gpu.index: address for gpu, address in zip(nameless, free)}
    return tuple(replace(gpu, pci_address=found.get(gpu.index, gpu.pci_address)) for gpu in gpus)


def _note_unlisted(files: HostFiles, on_bus: tuple[PciGpu, ...], gpus: tuple[Gpu, ...]) -> None:
    """A GPU whose start failed is still on the bus, and NVML counts without it."""
    if all(gpu.pci_address for gpu in gpus):
        for address in _free_addresses(gpus, on_bus):
            files.note(f"GPU {address}", "is on the PCI bus and bound to nvidia, but NVML does not list it")


def _placed(gpu: Gpu, on_bus: dict[str, PciGpu]) -> Gpu:
    """The kernel's word on where a GPU sits goes before NVML's, which in a guest names every node or none."""
    device = on_bus.get(gpu.pci_address or "")
    if device is None:
        return gpu
    return replace(gpu, numa_node=device.numa_node, cpu_affinity=gpu.cpu_affinity or device.local_cpus)
