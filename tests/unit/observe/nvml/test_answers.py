# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVML's numbers as Linux and nvidia-smi write them."""

from __future__ import annotations

import pynvml
import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.nvml import answers


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([], None),
        ([3], "3"),
        ([0, 1], "0-1"),
        ([*range(64), *range(128, 192)], "0-63,128-191"),
        ([0, 2, 3, 5], "0,2-3,5"),
    ],
)
def test_ranges(numbers, text):
    assert answers.ranges(numbers) == text


def test_bits():
    assert answers.bits([0b101, 0, 1 << 63]) == [0, 2, 191]
    assert answers.bits(None) == []


@pytest.mark.parametrize(("value", "name"), [(0, "SUCCESS"), (15, "GPU_IS_LOST"), (424242, "424242")])
def test_status_name(value, name):
    assert answers.status_name(pynvml, value) == name


def test_the_tables_are_the_packages_own():
    """The names are nvidia-smi's; the numbers must be those of nvidia-ml-py."""
    levels = {
        pynvml.NVML_TOPOLOGY_INTERNAL: "INTERNAL",
        pynvml.NVML_TOPOLOGY_SINGLE: "PIX",
        pynvml.NVML_TOPOLOGY_MULTIPLE: "PXB",
        pynvml.NVML_TOPOLOGY_HOSTBRIDGE: "PHB",
        pynvml.NVML_TOPOLOGY_NODE: "NODE",
        pynvml.NVML_TOPOLOGY_SYSTEM: "SYS",
    }
    assert levels == answers.ANCESTORS
    assert {getattr(pynvml, f"NVML_P2P_STATUS_{name}"): name for name in answers.P2P.values()} == answers.P2P
    states = {getattr(pynvml, f"NVML_GPU_FABRIC_STATE_{name.upper()}"): name for name in answers.FABRIC_STATES.values()}
    assert states == answers.FABRIC_STATES
