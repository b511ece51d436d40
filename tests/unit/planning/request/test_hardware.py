# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hardware as data."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import PlanningError
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.hardware import host_from_hardware

CARDS = {"gpus": 8, "gpu_memory_gib": 95.59, "ram_gib": 449}
ADVICE = "correct inference_hardware, for example {gpus: 8, gpu_memory_gib: 95.59, ram_gib: 449}"


def test_the_least_that_is_needed():
    host = host_from_hardware({"gpus": 2, "gpu_memory_gib": 32, "ram_gib": 128})
    assert [(gpu.uuid, gpu.total_bytes, gpu.free_bytes) for gpu in host.gpus] == [
        ("data-0", 32 * GIB, None),
        ("data-1", 32 * GIB, None),
    ]
    assert host.memory_available_bytes == 124 * GIB
    assert host.memory_source.startswith("estimate")


@pytest.mark.parametrize(("ram", "available"), [(449, 445), (80, 76), (16, 15.2)])
def test_what_the_system_takes(ram, available):
    host = host_from_hardware({"gpus": 0, "ram_gib": ram})
    assert host.memory_available_bytes / GIB == pytest.approx(available)


def test_what_else_is_known():
    host = host_from_hardware({
        "gpus": 1, "gpu_name": "RTX PRO 6000", "compute_capability": "12.0", "gpu_memory_gib": 95.59, "gpu_free_gib": 90, "ram_gib": 64,
        "ram_available_gib": 60, "cgroup_limit_gib": 32, "memlock_gib": 1, "gpu_free_before_load_gib": 89, "gpu_free_after_load_gib": 20,
    })  # fmt: skip
    assert host.gpus[0].free_bytes == 90 * GIB
    assert (host.cgroup_limit_bytes, host.cgroup_headroom_bytes, host.memlock_bytes) == (32 * GIB, 32 * GIB, GIB)
    assert (host.free_before_load_bytes, host.free_after_load_bytes) == (89 * GIB, 20 * GIB)
    assert (host.memory_available_bytes, host.memory_source) == (60 * GIB, "operator")


def test_cards_and_memory_are_spread_over_the_nodes():
    host = host_from_hardware({"gpus": 6, "gpu_memory_gib": 32, "ram_gib": 128, "numa_nodes": 2})
    assert [gpu.numa_node for gpu in host.gpus] == [0, 0, 0, 1, 1, 1]
    assert [(node.node, node.total_bytes) for node in host.numa_nodes] == [(0, 64 * GIB), (1, 64 * GIB)]
    one = host_from_hardware({"gpus": 2, "gpu_memory_gib": 32, "ram_gib": 128, "numa_nodes": 1})
    assert (one.numa_nodes, one.gpus[0].numa_node) == ((), None)


@pytest.mark.parametrize(
    ("known", "capabilities"),
    [
        ({"gpu_name": "RTX PRO 6000"}, ("12.0",)),
        ({"gpu_name": "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"}, ("12.0",)),
        ({"gpu_name": "NVIDIA GeForce RTX 5090"}, ("12.0",)),
        ({"gpu_name": "NVIDIA B200"}, ("10.0",)),
        ({"gpu_name": "h200"}, ("9.0",)),
        ({"gpu_name": "NVIDIA L40S"}, ("8.9",)),
        ({"gpu_name": "the one of next year", "compute_capability": "13.0"}, ("13.0",)),
        ({}, ()),
    ],
)
def test_a_name_tells_what_the_card_can_run(known, capabilities):
    assert host_from_hardware({**CARDS, **known}).compute_capabilities == capabilities


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {**CARDS, "gpu_name": "Voodoo 3"},
            "The hardware's gpu_name 'Voodoo 3' is no card whose compute capability is known here; give it in compute_capability, "
            'as "12.0" of an RTX PRO 6000: what does not run on a card is told by that.',
        ),
        (
            {**CARDS, "gpu_name": 5},
            f"The hardware: gpu_name is 5; expected a text: {ADVICE}.",
        ),
        ([], f"The hardware is a list; expected a dictionary: {ADVICE}."),
        ({"ram_gib": 8}, f"The hardware: gpus is missing; expected a whole number from 0 to 4,096: {ADVICE}."),
        (
            {"gpus": "8", "ram_gib": 8},
            f"The hardware: gpus is the text '8'; expected a whole number from 0 to 4,096: {ADVICE}.",
        ),
        ({"gpus": 0}, f"The hardware lacks ram_gib; expected a number of GiB above 0: {ADVICE}."),
        ({"gpus": 8, "ram_gib": 8}, f"The hardware lacks gpu_memory_gib; expected a number of GiB above 0: {ADVICE}."),
        (
            {"gpus": 0, "ram_gib": "8"},
            f"The hardware's ram_gib is the text '8'; expected a number of GiB above 0: {ADVICE}.",
        ),
        ({"gpus": 0, "ram_gib": 0}, f"The hardware's ram_gib is 0; expected a number of GiB above 0: {ADVICE}."),
        (
            {"gpus": 0, "ram_gib": 8, "ram_available_gib": 9},
            f"The hardware has ram_available_gib 9 of ram_gib 8; expected no more than there is: {ADVICE}.",
        ),
        (
            {**CARDS, "gpu_free_gib": 96},
            f"The hardware has gpu_free_gib 96 of gpu_memory_gib 95.59; expected no more than there is: {ADVICE}.",
        ),
        (
            {**CARDS, "gpu_free_before_load_gib": 96},
            f"The hardware has gpu_free_before_load_gib 96 of gpu_memory_gib 95.59; expected no more than there is: {ADVICE}.",
        ),
        (
            {**CARDS, "gpu_free_before_load_gib": 20, "gpu_free_after_load_gib": 30},
            f"The hardware has gpu_free_after_load_gib 30 of gpu_free_before_load_gib 20; expected no more than there is: {ADVICE}.",
        ),
        (
            {**CARDS, "compute_capability": "sm_120"},
            f"The hardware's compute_capability is the text 'sm_120'; expected a text like \"12.0\": {ADVICE}.",
        ),
        (
            {"gpus": 0, "ram_gib": 8, "vram": 1},
            "The hardware has the key 'vram'; expected gpus, gpu_name, compute_capability, numa_nodes, gpu_memory_gib, gpu_free_gib, gpu_free_before_load_gib, "
            f"gpu_free_after_load_gib, ram_gib, ram_available_gib, cgroup_limit_gib, memlock_gib: {ADVICE}.",
        ),
    ],
)
def test_refusals(data, message):
    with pytest.raises(PlanningError) as refused:
        host_from_hardware(data)
    assert str(refused.value) == message
