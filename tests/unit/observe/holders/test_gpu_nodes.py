# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which device numbers stand for a GPU."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.holders.gpu_nodes import (
    GpuNodes,
    families_of,
    is_gpu_node,
    read_gpu_nodes,
)

HEAD = "Character devices:\n  1 mem\n 10 misc\n"
TAIL = "\nBlock devices:\n  8 sd\n195 nvidia-uvm\n259 blkext\n"


@pytest.mark.parametrize(
    ("lines", "families"),
    [
        (
            "195 nvidia\n195 nvidia-modeset\n195 nvidiactl\n507 nvidia-uvm\n511 nvidia-caps\n",
            {195: "nvidia", 507: "nvidia-uvm", 511: "nvidia-caps"},
        ),
        ("195 nvidia-frontend\n", {195: "nvidia-frontend"}),
        ("508 nvidia-caps-imex-channels\n", {508: "nvidia-caps-imex-channels"}),
        ("195 somebody\n", {}),
        ("507 nvidia-uvm\n507 somebody\n", {}),  # shared: only nodes tell
        ("235 nvidia-nvswitch\n236 nvidia-nvlink\n", {}),  # no GPU behind them
        ("", {}),  # no driver: a block device's major is none of ours
    ],
)
def test_majors_that_are_the_drivers_alone(lines, families):
    assert families_of(HEAD + lines + TAIL) == families


@pytest.mark.parametrize(
    ("number", "name"),
    [
        ((195, 0), "nvidia0"),
        ((195, 17), "nvidia17"),
        ((195, 254), "nvidia-modeset"),
        ((195, 255), "nvidiactl"),
        ((507, 0), "nvidia-uvm"),
        ((507, 1), "nvidia-uvm-tools"),
        ((507, 2), None),
        ((511, 3), "nvidia-caps/nvidia-cap3"),
        ((508, 0), "nvidia-caps-imex-channels/channel0"),
        ((10, 229), "nvidia3"),
        ((10, 228), None),
        ((1, 3), None),
    ],
)
def test_what_a_number_stands_for(number, name):
    families = {195: "nvidia", 507: "nvidia-uvm", 511: "nvidia-caps", 508: "nvidia-caps-imex-channels"}
    nodes = GpuNodes({(10, 229): "nvidia3"}, families)
    assert nodes.name_of(number) == name
    assert GpuNodes.from_json(nodes.as_json()).name_of(number) == name


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("nvidia0", True),
        ("nvidia12", True),
        ("nvidia-uvm-tools", True),
        ("nvidia-caps/nvidia-cap21", True),
        ("nvidia-caps-imex-channels/channel7", True),
        ("nvidia-nvswitch0", False),
        ("nvidia", False),
        ("nvidia0 (deleted)", False),
        ("null", False),
    ],
)
def test_names_below_dev(name, is_one):
    assert is_gpu_node(name) is is_one


def test_a_machine_without_the_driver(make_host):
    """A file that only has the name of a node is none."""
    host = make_host({"/proc/devices": HEAD + TAIL, "/dev/nvidia0": ""})
    assert read_gpu_nodes(host.root) == GpuNodes({}, {})
    assert read_gpu_nodes(make_host().root + "/absent") == GpuNodes({}, {})
