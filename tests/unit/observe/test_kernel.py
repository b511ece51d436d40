# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel, IOMMU and the modules that drive or hide GPUs."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.kernel import KernelModule, read_kernel

GROUPS = "/sys/kernel/iommu_groups"


@pytest.mark.parametrize(
    ("types", "mode"),
    [
        ({}, "off"),
        ({"0": "identity\n", "1": "identity\n"}, "passthrough"),
        ({"0": "DMA-FQ\n", "1": "DMA\n"}, "translated"),
        ({"0": "identity\n", "1": "DMA-FQ\n"}, "mixed"),
    ],
)
def test_iommu(make_host, types, mode):
    kernel = read_kernel(make_host({f"{GROUPS}/{group}/type": kind for group, kind in types.items()}))
    assert (kernel.iommu_mode, kernel.iommu_groups) == (mode, len(types))


def test_groups_without_types_are_not_taken_for_anything(make_host):
    assert read_kernel(make_host({f"{GROUPS}/0/devices/x": ""})).iommu_mode == "unknown"


def test_modules_with_versions_and_parameters(make_host):
    kernel = read_kernel(
        make_host(
            {
                "/proc/sys/kernel/osrelease": "6.17.0-20-generic\n",
                "/proc/cmdline": "BOOT_IMAGE=/vmlinuz iommu=pt\n",
                "/sys/module/nvidia/version": "595.58.03\n",
                "/proc/driver/nvidia/params": 'EnableGpuFirmware: 18\nRegistryDwords: ""\n',
                "/sys/module/nvidia_uvm/parameters/uvm_disable_hmm": "Y\n",
                "/sys/module/ext4/parameters/x": "1\n",
            }
        )
    )
    assert kernel.release == "6.17.0-20-generic"
    assert kernel.command_line == "BOOT_IMAGE=/vmlinuz iommu=pt"
    assert kernel.modules == (
        KernelModule("nvidia", "595.58.03", {"NVreg_EnableGpuFirmware": "18", "NVreg_RegistryDwords": '""'}),
        KernelModule("nvidia_uvm", None, {"uvm_disable_hmm": "Y"}),
    )
