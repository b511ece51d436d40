# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ranks that the engine keeps to the NUMA node of their card."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import PlanningError
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB
from ansible_collections.blackwell.inference.plugins.module_utils.planning.host.numa_and_loading import binding
from ansible_collections.blackwell.inference.plugins.module_utils.planning.planner import plan_memory
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.host import NumaNode

NODES = (NumaNode(0, 225 * GIB), NumaNode(1, 224 * GIB))
CROWDED = [0, 0, 0, 0, 0, 0, 0, 1]
EVEN = [0, 0, 0, 0, 1, 1, 1, 1]


@pytest.fixture
def sockets(request_for):
    """The design host as bare metal: `sockets([node of each card], **options)`; None: the card's node is not known."""

    def make(nodes, environment=None, **options):
        request = request_for(**{"hicache_size": 48, **options})
        gpus = tuple(replace(gpu, numa_node=node) for gpu, node in zip(request.host.gpus, nodes, strict=True))
        host = replace(request.host, gpus=gpus, numa_nodes=NODES)
        return replace(request, host=host, environment=environment or {})

    return make


def refusals(request):
    with pytest.raises(PlanningError) as refused:
        plan_memory(request)
    return {row["name"]: row for row in refused.value.details["refusals"]}


def test_four_ranks_on_each_of_two_sockets_fit_where_all_fit(sockets):
    assert plan_memory(sockets(EVEN, version="0.5.23")).pool.size_gb == 48


def test_seven_ranks_do_not_fit_on_one_socket(sockets):
    found = refusals(sockets(CROWDED, version="0.5.23"))
    assert list(found) == ["numa_node"]
    assert found["numa_node"]["message"] == (
        "The 7 ranks of NUMA node 0 ask for 366.07 GB, and the node has about 239.44 GB; SGLang 0.5.23 binds each rank to the memory of its card's node, "
        "where numactl is installed, and a full node gets a rank killed whatever other nodes have. At most 29 GB per rank fit there: lower hicache_size or "
        "hicache_ratio, or set SGLANG_NUMA_BIND_V2 to '0' in environment, which only prefers the node."
    )
    assert found["numa_node"]["overridable"] is True
    assert plan_memory(sockets(CROWDED, version="0.5.23", force=["numa_node"])).pool.size_gb == 48
    assert plan_memory(sockets(CROWDED, version="0.5.23", hicache_size=29)).pool.size_gb == 29


def test_where_the_node_is_preferred_the_plan_only_says_so(sockets):
    planned = plan_memory(sockets(CROWDED, version="0.5.9"))
    assert (
        "The 7 ranks of NUMA node 0 ask for 366.07 GB and the node has about 239.44 GB: "
        "the rest lies on other nodes, and is slower to load back."
    ) in planned.notes


@pytest.mark.parametrize("nodes", [[None] * 8, [0, 0, 0, 0, 0, 0, 0, None]])
def test_cards_whose_node_nobody_knows_are_not_judged(sockets, nodes):
    """As in a guest."""
    assert plan_memory(sockets(nodes, version="0.5.23")).pool is not None


def test_a_host_of_one_node_is_not_judged(request_for):
    assert plan_memory(request_for(version="0.5.23", hicache_size=48)).pool is not None


@pytest.mark.parametrize(
    ("version", "arguments", "environment", "expected"),
    [
        ("0.5.5", {}, {}, ""),
        ("0.5.9", {}, {}, "preferred"),
        ("0.5.10", {}, {}, "bound"),
        ("0.5.10", {}, {"SGLANG_NUMA_BIND_V2": "0"}, "preferred"),
        ("0.5.10", {}, {"SGLANG_AUTO_NUMA_BIND": "0"}, "bound"),
        ("0.5.18", {}, {"SGLANG_AUTO_NUMA_BIND": "false"}, ""),
        ("0.5.23", {}, {"SGLANG_AUTO_NUMA_BIND": "1"}, "bound"),
        ("0.5.5", {"numa-node": [0, 0]}, {}, "preferred"),
        ("0.5.6", {"numa-node": [0, 0]}, {}, "bound"),
        ("0.5.23", {"numa-node": [0, 0]}, {"SGLANG_AUTO_NUMA_BIND": "0"}, "bound"),
    ],
)
def test_how_a_version_binds(request_for, rules_of, version, arguments, environment, expected):
    request = replace(request_for(arguments=arguments), rules=rules_of(version), environment=environment)
    assert binding(request) == expected


def test_the_operators_own_nodes_count_before_the_cards(sockets):
    arguments = {"numa-node": [0, 0, 0, 0, 0, 0, 0, 1]}
    assert list(refusals(sockets(EVEN, version="0.5.23", arguments=arguments))) == ["numa_node"]
