# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of /proc that tell of a machine: the driver, the memory, the processors, the command line."""

from __future__ import annotations

from typing import Any

from .description import Description, gpus, online_cpus

GCC_LINE = "gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2~24.04.1) "
DMA_BITS = 52
# The few of the driver's parameters that anybody asks for; sysfs does not show them, /proc/driver/nvidia/params does.
DRIVER_PARAMETERS = {
    "ModifyDeviceFiles": 1,
    "DynamicPowerManagement": 3,
    "EnableGpuFirmware": 18,
    "OpenRmEnableUnsupportedGpus": 1,
    "DmaRemapPeerMmio": 1,
}
CPU_FLAGS = "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ht syscall nx pdpe1gb rdtscp lm constant_tsc"


def files(description: Description) -> dict[str, str]:
    """Path below the root, to text."""
    return {
        "proc/meminfo": meminfo(description),
        "proc/cpuinfo": cpuinfo(description),
        "proc/cmdline": description["system"]["cmdline"] + "\n",
        "proc/driver/nvidia/version": driver_version(description),
        "proc/driver/nvidia/params": "".join(f"{name}: {value}\n" for name, value in DRIVER_PARAMETERS.items())
        + 'RegistryDwords: ""\n',
        **{
            f"proc/driver/nvidia/gpus/{gpu['pci']['address']}/information": information(description, gpu)
            for gpu in gpus(description)
        },
    }


def driver_version(description: Description) -> str:
    """As nv-procfs.c writes it: the version is that of the loaded module, not that of the libraries."""
    driver = description["driver"]
    return f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {driver['kernel_module_version']}  {driver['build']}\nGCC version:  {GCC_LINE}\n"


def information(description: Description, gpu: dict[str, Any]) -> str:
    """As nv-procfs.c of open-gpu-kernel-modules writes it, blanks and tabs included."""
    return (
        f"Model: \t\t {gpu['name']}\n"
        f"IRQ:   \t\t {gpu['pci']['irq']}\n"
        f"GPU UUID: \t {gpu['uuid']}\n"
        f"Video BIOS: \t {gpu['vbios'].lower()}\n"
        "Bus Type: \t PCIe\n"
        f"DMA Size: \t {DMA_BITS} bits\n"
        f"DMA Mask: \t {(1 << DMA_BITS) - 1:#x}\n"
        f"Bus Location: \t {gpu['pci']['address']}\n"
        f"Device Minor: \t {gpu['minor']}\n"
        f"GPU Firmware: \t {description['driver']['kernel_module_version']}\n"
        "GPU Excluded:\t No\n"
    )


def modules(description: Description) -> str:
    return "".join(f"{name} {1 << 20} 0 - Live 0x0000000000000000 (OE)\n" for name in description["modules"])


def meminfo(description: Description) -> str:
    memory, nodes = description["memory"], description["numa_nodes"]
    free = sum(node["free_bytes"] for node in nodes)
    huge_kib = {int(size): sum(counts) for size, counts in memory["huge_pages"].items()}
    cached = max(memory["available_bytes"] - free, 0)  # what can be had beside what is free
    lines = {
        "MemTotal": sum(node["memory_bytes"] for node in nodes), "MemFree": free, "MemAvailable": memory["available_bytes"], "Buffers": 0,
        "Cached": cached, "SwapCached": 0, "Active": cached // 2, "Inactive": cached - cached // 2, "Mlocked": 0,
        "SwapTotal": memory["swap_bytes"], "SwapFree": memory["swap_bytes"], "Dirty": 0, "AnonPages": 0, "Mapped": 0, "Shmem": 0, "Slab": 0,
        "SReclaimable": 0, "SUnreclaim": 0,
    }  # fmt: skip
    text = "".join(f"{name + ':':<15} {size // 1024:8d} kB\n" for name, size in lines.items())
    text += "".join(
        f"{'HugePages_' + name + ':':<15} {huge_kib[2048] if name in ('Total', 'Free') else 0:8d}\n"
        for name in ("Total", "Free", "Rsvd", "Surp")
    )
    return (
        text
        + f"{'Hugepagesize:':<15} {2048:8d} kB\n{'Hugetlb:':<15} {sum(size * count for size, count in huge_kib.items()):8d} kB\n"
    )


def place_of(description: Description, number: int) -> tuple[int, int]:
    """Socket and core of a processor, as Linux numbers them: first threads of all cores, socket by socket, then second threads."""
    cpu = description["cpu"]
    core = number % (cpu["sockets"] * cpu["cores_per_socket"])
    return divmod(core, cpu["cores_per_socket"])


def cpuinfo(description: Description) -> str:
    cpu = description["cpu"]
    flags = CPU_FLAGS + (" hypervisor" if cpu.get("guest") else "")
    return "\n".join(
        f"processor\t: {number}\nvendor_id\t: {cpu['vendor']}\nmodel name\t: {cpu['model']}\n"
        f"physical id\t: {place_of(description, number)[0]}\nsiblings\t: {cpu['cores_per_socket'] * cpu['threads_per_core']}\n"
        f"core id\t\t: {place_of(description, number)[1]}\ncpu cores\t: {cpu['cores_per_socket']}\nflags\t\t: {flags}\n"
        for number in online_cpus(description)
    )
