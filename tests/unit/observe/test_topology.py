# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole host as one value."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.nvml.gpus import Driver, Gpu, NvmlReading
from ansible_collections.blackwell.inference.plugins.module_utils.observe.topology import observe

ADDRESS = "0000:01:00.0"
HOME = f"/sys/bus/pci/devices/{ADDRESS}"
BUS = {
    f"{HOME}/vendor": "0x10de",
    f"{HOME}/class": "0x030200",
    f"{HOME}/device": "0x2bb5",
    f"{HOME}/numa_node": "-1",
    f"{HOME}/local_cpulist": "0-63",
    f"{HOME}/driver": Path("../drivers/nvidia"),
    "/proc/meminfo": "MemTotal: 100 kB\nMemFree: 50 kB\nMemAvailable: 70 kB\n",
    "/proc/self/limits": "Max locked memory  8388608  unlimited  bytes\n",
}


class Fake:
    """An NvmlReader that is a list of GPUs."""

    def __init__(self, *gpus: Gpu, error: str | None = None) -> None:
        self.gpus = gpus
        self.error = error

    def read(self) -> NvmlReading:
        return NvmlReading(Driver(error=self.error), self.gpus)


@pytest.mark.parametrize(
    ("gpu", "node", "cpus"),
    [
        (Gpu(0, pci_address=ADDRESS, numa_node=1, cpu_affinity="64-127"), None, "64-127"),
        (Gpu(0, pci_address=ADDRESS), None, "0-63"),
        (Gpu(0, pci_address="0000:02:00.0", numa_node=1), 1, None),
    ],
    ids=["the kernel's node goes first", "the kernel's CPUs fill in", "a GPU not on the bus keeps NVML's word"],
)
def test_where_a_gpu_sits(make_host, gpu, node, cpus):
    (placed,) = observe(make_host(BUS), Fake(gpu), None).gpus
    assert (placed.numa_node, placed.cpu_affinity) == (node, cpus)


def test_a_gpu_that_nvml_does_not_list_is_noted(make_host):
    topology = observe(make_host(BUS), Fake(Gpu(0, pci_address="0000:02:00.0")), None)
    assert [(note.what, note.why) for note in topology.unread] == [
        (f"GPU {ADDRESS}", "is on the PCI bus and bound to nvidia, but NVML does not list it")
    ]


def test_a_gpu_that_tells_no_address_has_the_one_that_is_left_over(make_host):
    (gpu,) = observe(make_host(BUS), Fake(Gpu(0, state="lost")), None).gpus
    assert (gpu.pci_address, gpu.cpu_affinity) == (ADDRESS, "0-63")


@pytest.mark.parametrize(
    "reader",
    [Fake(error="no driver"), Fake(Gpu(0, state="timeout"), Gpu(1, state="timeout"))],
    ids=["no driver", "more GPUs without an address than there are addresses"],
)
def test_nobody_is_missed_where_nvml_could_not_say(make_host, reader):
    assert observe(make_host(BUS), reader, None).unread == ()


def test_the_result_is_plain_data_with_the_keys_of_the_interface(make_host):
    result = json.loads(json.dumps(observe(make_host(BUS), Fake(Gpu(0)), "none").as_dict()))
    assert list(result) == [
        "schema", "gpus", "interconnect", "driver", "pci_gpus", "memory", "cgroup", "memlock", "cpu", "virtualisation", "kernel", "unread",
    ]  # fmt: skip
    assert result["memory"]["total_bytes"] == 102400
    assert result["memlock"] == {"soft_bytes": 8388608, "hard_bytes": None}
    assert result["virtualisation"]["kind"] == "bare_metal"
    assert result["pci_gpus"][0]["driver"] == "nvidia"
