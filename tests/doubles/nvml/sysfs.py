# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of /sys that tell of a machine: PCI, IOMMU, modules, NUMA, processors, huge pages, firmware."""

from __future__ import annotations

from typing import Any

from .description import Description, gpus, local_cpus, online_cpus, ranges_of
from .proc import place_of

# Below these the machine underneath would show through, so its own entries go.
REPLACED = (
    "/sys/bus/pci/devices", "/sys/kernel/iommu_groups", "/sys/module", "/sys/devices/system/node", "/sys/devices/system/cpu",
    "/sys/kernel/mm/hugepages", "/sys/class/dmi",
)  # fmt: skip

LINK_SPEEDS = {1: "2.5", 2: "5.0", 3: "8.0", 4: "16.0", 5: "32.0"}
AUDIO_DEVICE = "0x22e8"
REGISTERS_BYTES, DOORBELL_BYTES = 64 << 20, 32 << 20
PREFETCHABLE_64, MEMORY_32 = 0x14220C, 0x40200
RESOURCE_LINES = 13  # six BARs, the ROM, six of SR-IOV


def files(description: Description) -> dict[str, str]:
    """Path below the root, to text."""
    return {
        **functions(description),
        **modules(description),
        **numa(description),
        **processors(description),
        **huge_pages(description),
        **{f"sys/class/dmi/id/{name}": f"{text}\n" for name, text in description["system"]["dmi"].items()},
        **{
            f"sys/kernel/iommu_groups/{group}/type": f"{description['iommu_group_type']}\n"
            for group in iommu_groups(description)
        },
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    }


def links(description: Description) -> dict[str, str]:
    """Path below the root, to where the link there leads."""
    found = {}
    for gpu in gpus(description):
        address = gpu["pci"]["address"]
        found[f"sys/bus/pci/devices/{address}/driver"] = "../../drivers/nvidia"
        found[f"sys/bus/pci/drivers/nvidia/{address}"] = f"../../devices/{address}"
    for group, addresses in iommu_groups(description).items():
        for address in addresses:
            found[f"sys/bus/pci/devices/{address}/iommu_group"] = f"../../../../kernel/iommu_groups/{group}"
            found[f"sys/kernel/iommu_groups/{group}/devices/{address}"] = f"../../../../bus/pci/devices/{address}"
    return found


def directories(description: Description) -> list[str]:
    """Those that exist although nothing need be in them."""
    return ["sys/kernel/iommu_groups"]


def iommu_groups(description: Description) -> dict[int, list[str]]:
    """A group for each card, its audio function included: what a server board does."""
    if description["iommu_group_type"] is None:
        return {}
    return {
        number: [address for address, _is_audio in functions_of(gpu)]
        for number, gpu in enumerate(gpus(description), start=20)
    }


def functions_of(gpu: dict[str, Any]) -> list[tuple[str, bool]]:
    """Address, and whether it is the audio function, of each function of a card."""
    address = gpu["pci"]["address"]
    return [(address, False)] + ([(address[:-1] + "1", True)] if gpu["pci"].get("audio") else [])


def functions(description: Description) -> dict[str, str]:
    found = {}
    for gpu in gpus(description):
        common = {
            "numa_node": str(gpu["numa_node"]),
            "local_cpulist": local_cpus(description, gpu),
            "d3cold_allowed": "1",
            "power/control": "auto",
        }
        for address, audio in functions_of(gpu):
            for name, text in {**common, **(audio_function(gpu) if audio else graphics_function(gpu))}.items():
                found[f"sys/bus/pci/devices/{address}/{name}"] = f"{text}\n"
    return found


def identity(gpu: dict[str, Any], device: str, pci_class: str) -> dict[str, str]:
    subsystem = gpu["pci"]["subsystem_id"]
    return {
        "vendor": "0x10de",
        "device": device,
        "subsystem_vendor": f"0x{subsystem[-4:]}",
        "subsystem_device": subsystem[:6],
        "class": pci_class,
    }


def audio_function(gpu: dict[str, Any]) -> dict[str, str]:
    return {**identity(gpu, AUDIO_DEVICE, "0x040300"), "revision": gpu["pci"]["revision"]}


def graphics_function(gpu: dict[str, Any]) -> dict[str, str]:
    pci, pcie = gpu["pci"], gpu["pcie"]
    return {
        **identity(gpu, pci["device_id"][:6], pci["class"]),
        "revision": pci["revision"],
        "irq": str(pci["irq"]),
        "resource": resource(gpu),
        "current_link_speed": f"{LINK_SPEEDS[pcie['generation']]} GT/s PCIe",
        "current_link_width": str(pcie["width"]),
        "max_link_speed": f"{LINK_SPEEDS[pcie['gpu_max_generation']]} GT/s PCIe",
        "max_link_width": str(pcie["max_width"]),
        "uevent": uevent(pci),
    }


def uevent(pci: dict[str, Any]) -> str:
    pci_class, device = pci["class"][2:].upper().lstrip("0"), pci["device_id"][2:6].upper()
    return f"DRIVER=nvidia\nPCI_CLASS={pci_class}\nPCI_ID=10DE:{device}\nPCI_SLOT_NAME={pci['address']}"


def resource(gpu: dict[str, Any]) -> str:
    """The driver's BAR1 is the second BAR in use, whatever its number: a 64-bit BAR takes two."""
    lines = [(0, 0, 0)] * RESOURCE_LINES
    sizes = (REGISTERS_BYTES, gpu["bar1"]["total_bytes"], DOORBELL_BYTES)
    for (number, start), size in zip(sorted(gpu["pci"]["bars"].items()), sizes, strict=True):
        first = int(start, 16)
        lines[int(number)] = (first, first + size - 1, PREFETCHABLE_64 if first >> 32 else MEMORY_32)
    return "\n".join(f"0x{first:016x} 0x{last:016x} 0x{flags:016x}" for first, last, flags in lines)


def modules(description: Description) -> dict[str, str]:
    found = {}
    for name, parameters in description["modules"].items():
        texts = {
            "initstate": "live",
            "refcnt": "0",
            **{f"parameters/{key}": value for key, value in parameters.items()},
        }
        if name.startswith("nvidia"):
            texts["version"] = description["driver"]["kernel_module_version"]
        found.update({f"sys/module/{name}/{key}": f"{value}\n" for key, value in texts.items()})
    return found


def numa(description: Description) -> dict[str, str]:
    nodes = description["numa_nodes"]
    everywhere = ranges_of(list(range(len(nodes))))
    found = {
        f"sys/devices/system/node/{name}": f"{everywhere}\n" for name in ("online", "possible", "has_cpu", "has_memory")
    }
    for number, node in enumerate(nodes):
        folder = f"sys/devices/system/node/node{number}"
        found[f"{folder}/cpulist"] = f"{node['cpus']}\n"
        found[f"{folder}/distance"] = " ".join(map(str, node["distances"])) + "\n"
        found[f"{folder}/meminfo"] = node_meminfo(number, node["memory_bytes"], node["free_bytes"])
        for size, counts in description["memory"]["huge_pages"].items():
            for name in ("nr_hugepages", "free_hugepages"):
                found[f"{folder}/hugepages/hugepages-{size}kB/{name}"] = f"{counts[number]}\n"
    return found


def node_meminfo(number: int, total_bytes: int, free_bytes: int) -> str:
    sizes = {"MemTotal": total_bytes, "MemFree": free_bytes, "MemUsed": total_bytes - free_bytes}
    return "".join(f"Node {number} {name + ':':<15} {size // 1024:8d} kB\n" for name, size in sizes.items())


def processors(description: Description) -> dict[str, str]:
    online, cpu = set(online_cpus(description)), description["cpu"]
    cores = cpu["sockets"] * cpu["cores_per_socket"]
    everyone = range(cores * cpu["threads_per_core"])
    folder = "sys/devices/system/cpu"
    found = {f"{folder}/{name}": f"{ranges_of(list(everyone))}\n" for name in ("possible", "present")}
    found[f"{folder}/online"] = f"{ranges_of(sorted(online))}\n"
    for number in online:
        threads = [other for other in everyone[number % cores :: cores] if other in online]
        topology = f"{folder}/cpu{number}/topology"
        found[f"{topology}/physical_package_id"] = f"{place_of(description, number)[0]}\n"
        found[f"{topology}/core_cpus_list"] = f"{ranges_of(threads)}\n"  # psutil counts cores by it
    return found


def huge_pages(description: Description) -> dict[str, str]:
    return {
        f"sys/kernel/mm/hugepages/hugepages-{size}kB/{name}": f"{sum(counts)}\n"
        for size, counts in description["memory"]["huge_pages"].items()
        for name in ("nr_hugepages", "free_hugepages")
    }
