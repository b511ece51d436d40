# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA GPUs as the PCI bus shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.pci import PciGpu, pci_address, read_pci_gpus

DEVICES = "/sys/bus/pci/devices"


def device(address: str, **files: str | Path) -> dict[str, str | Path]:
    return {f"{DEVICES}/{address}/{name}": content for name, content in files.items()}


def test_gpus_of_both_classes_and_of_any_driver(make_host):
    host = make_host(
        device(
            "0000:01:00.0", vendor="0x10de\n", device="0x2bb5\n", numa_node="1\n", local_cpulist="64-127\n",
            driver=Path("../../../bus/pci/drivers/nvidia"), iommu_group=Path("../../../kernel/iommu_groups/17"),
            **{"class": "0x030200\n"},
        )
        | device("10000:e1:00.0", vendor="0x10de\n", device="0x2bb1\n", numa_node="-1\n", local_cpulist="\n", **{"class": "0x030000\n"})
        | device("10000:e1:00.1", vendor="0x10de\n", device="0x22e8\n", **{"class": "0x040300\n"})
        | device("0000:02:00.0", vendor="0x1002\n", device="0x0001\n", **{"class": "0x030000\n"})
    )  # fmt: skip
    assert read_pci_gpus(host) == (
        PciGpu("0000:01:00.0", "10de:2bb5", "nvidia", 1, "64-127", 17),
        PciGpu("10000:e1:00.0", "10de:2bb1", None, None, None, None),
    )


def test_a_host_without_a_pci_bus(make_host):
    assert read_pci_gpus(make_host()) == ()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("01:00", "0000:01:00.0"),
        ("C1:00.0", "0000:c1:00.0"),
        ("0000:01:00", "0000:01:00.0"),
        ("00000000:C1:00.0", "0000:c1:00.0"),
        ("00010000:E1:00.1", "10000:e1:00.1"),  # a domain beyond four digits, as Intel VMD makes them
        ("gpu0", "gpu0"),
        ("0000:01:00.9", "0000:01:00.9"),
        ("", ""),
    ],
)
def test_addresses_are_written_as_linux_does(text, address):
    assert pci_address(text) == address
