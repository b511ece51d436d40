# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a holder and the judgement of it mean for each GPU."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.holders.scan import Holder
from ansible_collections.blackwell.inference.plugins.module_utils.observe.identity import Identity
from ansible_collections.blackwell.inference.plugins.module_utils.observe.nvml.usage import GpuUse
from ansible_collections.blackwell.inference.plugins.module_utils.release.occupancy import Occupancy, claim_of
from ansible_collections.blackwell.inference.plugins.module_utils.release.ownership import Judgement

GPUS = (GpuUse(0, minor=1), GpuUse(1, minor=0), GpuUse(2))
DESCRIPTOR, MAPPING = ("descriptor",), ("descriptor", "mapping")


def holder(devices: dict[str, tuple[str, ...]], memory: dict[int, int | None] | None = None) -> Holder:
    identity = Identity(7, 100, "/system.slice/a.service", 1000, "/usr/bin/python3")
    return Holder(identity, "python3", "S", 1, 1, (7,), "a.service", None, 0.0, devices, gpu_memory_bytes=memory or {})


@pytest.mark.parametrize(
    ("devices", "memory", "gpus"),
    [
        ({"nvidia0": DESCRIPTOR}, {}, {1}),
        ({"nvidia0": DESCRIPTOR, "nvidia1": DESCRIPTOR}, {1: 5}, {1}),
        ({"nvidia0": DESCRIPTOR, "nvidia1": MAPPING}, {1: 5}, {0, 1}),
        ({"nvidia-uvm": DESCRIPTOR, "nvidiactl": DESCRIPTOR}, {}, {0, 1, 2}),
        ({}, {2: None}, {2}),
        ({"nvidia7": DESCRIPTOR}, {}, {0, 1, 2}),
    ],
    ids=[
        "its node",
        "opened more than it uses",
        "mapped more than NVML lists",
        "no node of a GPU",
        "only listed",
        "a node nobody knows",
    ],
)
def test_gpus_of_a_holder(devices, memory, gpus):
    made = claim_of(holder(devices, memory), Judgement("not_ours", "Ask bob.", True), GPUS)
    assert made == Occupancy(7, "python3", frozenset(gpus), True, False, memory, False, "Ask bob.")


def test_what_is_known_of_the_holder_comes_along():
    made = claim_of(
        holder({"nvidia0": DESCRIPTOR}), Judgement("protected", "It stays.", False, True), GPUS, survived_kill=True
    )
    assert (made.blocks, made.tolerated, made.survived_kill, made.why) == (False, True, True, "It stays.")


def test_what_is_ours_can_be_ended_here():
    made = claim_of(holder({}), Judgement("ours", "It runs as uid 1000.", True), GPUS)
    assert made.why == "It runs as uid 1000. The state released ends it."
