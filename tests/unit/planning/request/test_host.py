# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host that a plan stands on."""

from __future__ import annotations

import copy
import json

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import PlanningError
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.host import (
    NumaNode,
    host_from_observation,
    host_from_topology,
)

TOPOLOGY = {
    "gpus": [
        {"index": 0, "uuid": "GPU-a", "state": "ok", "memory_total_bytes": 96 * GIB, "memory_free_bytes": 95 * GIB},
        {
            "index": 1,
            "uuid": "GPU-b",
            "state": "lost",
            "error": "GPU is lost",
            "memory_total_bytes": None,
            "memory_free_bytes": None,
        },
    ],
    "memory": {"total_bytes": 449 * GIB, "available_bytes": 445 * GIB},
    "cgroup": {"version": 2, "limit_bytes": 256 * GIB, "current_bytes": 6 * GIB},
    "memlock": {"soft_bytes": 8 << 20, "hard_bytes": 8 << 20},
    "virtualisation": {"kind": "bare_metal"},
}


def changed(**more):
    return host_from_topology({**copy.deepcopy(TOPOLOGY), **more})


def test_from_the_topology():
    host = host_from_topology(TOPOLOGY)
    assert [(gpu.index, gpu.usable, gpu.free_bytes) for gpu in host.gpus] == [(0, True, 95 * GIB), (1, False, 0)]
    assert (host.memory_available_bytes, host.memory_source) == (445 * GIB, "meminfo")
    assert (host.cgroup_limit_bytes, host.cgroup_headroom_bytes) == (256 * GIB, 250 * GIB)


def test_why_no_card_shows_is_known_but_no_part_of_the_observation():
    host = changed(gpus=[], driver={"error": "no library"})
    assert host.driver_error == "no library"
    assert "driver_error" not in host.as_dict()


def test_no_cgroup_no_limit():
    host = changed(cgroup={"version": 2, "limit_bytes": None, "current_bytes": None})
    assert (host.cgroup_limit_bytes, host.cgroup_headroom_bytes) == (None, None)


def test_pages_of_files_in_a_cgroup_count_as_free():
    """After a load of the weights the page cache fills the group; the kernel drops it before it kills."""
    host = changed(cgroup={"limit_bytes": 256 * GIB, "current_bytes": 250 * GIB, "cached_bytes": 240 * GIB})
    assert host.cgroup_headroom_bytes == 246 * GIB


def test_a_group_that_is_slowed_down_below_its_limit_ends_there():
    """Proxmox sets memory.high just below memory.max; beyond it pinning a host cache takes hours."""
    host = changed(cgroup={"limit_bytes": 256 * GIB, "throttle_bytes": 254 * GIB, "current_bytes": 4 * GIB})
    assert (host.cgroup_limit_bytes, host.cgroup_headroom_bytes) == (256 * GIB, 250 * GIB)


def test_a_full_cgroup_has_no_headroom():
    assert changed(cgroup={"limit_bytes": GIB, "current_bytes": 2 * GIB}).cgroup_headroom_bytes == 0


@pytest.mark.parametrize(
    ("kind", "hard", "expected"),
    [
        pytest.param("bare_metal", 8 << 20, None, id="systemd lifts it for the unit"),
        pytest.param("kvm", 8 << 20, None, id="in a guest too"),
        pytest.param("lxc", 8 << 20, 8 << 20, id="a container's limit is the last word"),
        pytest.param("docker", 8 << 20, 8 << 20, id="any container's"),
        pytest.param("lxc", None, None, id="unlimited"),
    ],
)
def test_which_limit_of_locked_memory_binds(kind, hard, expected):
    assert (
        changed(memlock={"soft_bytes": hard, "hard_bytes": hard}, virtualisation={"kind": kind}).memlock_bytes
        == expected
    )


def test_an_observation_is_what_it_was_written_as():
    host = host_from_topology(TOPOLOGY)
    written = json.loads(json.dumps(host.as_dict()))
    assert host_from_observation(written) == host
    assert written["memory"] == {
        "total_bytes": 449 * GIB,
        "available_bytes": 445 * GIB,
        "source": "meminfo",
        "zfs_arc_bytes": 0,
        "zfs_arc_min_bytes": 0,
        "huge_pages_bytes": 0,
        "shared_bytes": 0,
        "numa_nodes": [],
    }


def test_what_a_host_of_two_sockets_shows_more():
    memory = {
        **TOPOLOGY["memory"],
        "zfs_arc_bytes": 60 * GIB,
        "zfs_arc_min_bytes": 4 * GIB,
        "shmem_bytes": GIB,
        "huge_pages": [{"size_bytes": 2 << 20, "total": 512, "free": 512, "node": node} for node in (0, 1)],
        "numa_nodes": [{"node": node, "total_bytes": 224 * GIB, "free_bytes": 0, "cpus": "0-31"} for node in (0, 1)],
    }
    cards = [{**copy.deepcopy(TOPOLOGY["gpus"][0]), "numa_node": 1}]
    host = changed(memory=memory, gpus=cards)
    assert host.gpus[0].numa_node == 1
    assert (host.zfs_arc_min_bytes, host.huge_pages_bytes, host.shared_bytes) == (4 * GIB, 2 * GIB, GIB)
    assert host.numa_nodes == (NumaNode(0, 224 * GIB), NumaNode(1, 224 * GIB))
    assert host_from_observation(json.loads(json.dumps(host.as_dict()))) == host


def test_one_node_is_none():
    memory = {**TOPOLOGY["memory"], "numa_nodes": [{"node": 0, "total_bytes": 449 * GIB}]}
    assert changed(memory=memory).numa_nodes == ()


@pytest.mark.parametrize(
    ("topology", "message"),
    [
        (
            {"gpus": 7, "memory": TOPOLOGY["memory"]},
            "The topology: gpus is 7; expected a list: give the topology as topology_facts returns it.",
        ),
        (7, "The topology is 7; expected a dictionary: give the topology as topology_facts returns it."),
        (
            {"gpus": []},
            "memory in The topology is nothing; expected a dictionary: give the topology as topology_facts returns it.",
        ),
        (
            {**TOPOLOGY, "gpus": [{"index": 0, "state": "ok", "uuid": "GPU-a", "memory_total_bytes": "96"}]},
            "A GPU of the topology: memory_total_bytes is the text '96'; expected a whole number from 1 to 1,152,921,504,606,846,976: "
            "give the topology as topology_facts returns it.",
        ),
    ],
)
def test_a_topology_of_the_wrong_shape(topology, message):
    with pytest.raises(PlanningError) as refused:
        host_from_topology(topology)
    assert str(refused.value) == message


def test_an_observation_of_the_wrong_shape():
    with pytest.raises(
        PlanningError,
        match=r"^memory in The observation is nothing; expected a dictionary: leave it out, and planning observes anew\.$",
    ):
        host_from_observation({"gpus": []})


def test_what_other_engines_hold_is_part_of_the_observation():
    host = host_from_topology(TOPOLOGY, [{"unit": "sglang-b.service", "memory_bytes": GIB}])
    assert host.as_dict()["other_engines"] == [{"unit": "sglang-b.service", "memory_bytes": GIB}]
    assert host_from_observation(host.as_dict()) == host


@pytest.mark.parametrize(
    ("engines", "message"),
    [
        (7, "What else runs: other_engines is 7; expected a list: give other_engines as deployment_info returns them."),
        (
            [{"unit": "sglang-b.service"}],
            "One of the other engines: memory_bytes is missing; expected a whole number from 0 to 1,152,921,504,606,846,976: "
            "give other_engines as deployment_info returns them.",
        ),
    ],
)
def test_other_engines_of_the_wrong_shape(engines, message):
    with pytest.raises(PlanningError) as refused:
        host_from_topology(TOPOLOGY, engines)
    assert str(refused.value) == message
