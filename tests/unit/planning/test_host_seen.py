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
from ansible_collections.blackwell.inference.plugins.module_utils.planning.host_seen import (
    earlier_host,
    host_from_observation,
    host_from_topology,
    stand_on,
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


def running(**more):
    """The same host while its instance runs: the cards are full and memory is pinned."""
    topology = copy.deepcopy(TOPOLOGY)
    topology["gpus"][0]["memory_free_bytes"] = 5 * GIB
    topology["memory"]["available_bytes"] = 78 * GIB
    topology["cgroup"]["current_bytes"] = 200 * GIB
    return host_from_topology({**topology, **more})


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
    assert written["memory"] == {"total_bytes": 449 * GIB, "available_bytes": 445 * GIB, "source": "meminfo"}


def test_while_the_instance_runs_the_earlier_observation_is_stood_on():
    earlier = host_from_topology(TOPOLOGY)
    assert stand_on(running(), earlier, True) == (earlier, ())


def test_a_stopped_instance_is_observed_anew():
    assert stand_on(running(), host_from_topology(TOPOLOGY), False) == (running(), ())


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"gpus": TOPOLOGY["gpus"][:1]}, id="a card less"),
        pytest.param({"gpus": [{**TOPOLOGY["gpus"][0], "uuid": "GPU-c"}, TOPOLOGY["gpus"][1]]}, id="another card"),
        pytest.param({"memory": {"total_bytes": 512 * GIB, "available_bytes": 78 * GIB}}, id="more memory"),
        pytest.param({"cgroup": {"limit_bytes": 128 * GIB, "current_bytes": 1}}, id="another limit"),
    ],
)
def test_other_hardware_is_not_taken_for_the_earlier_one(more):
    host, notes = stand_on(running(**more), host_from_topology(TOPOLOGY), True)
    assert notes == (
        "The hardware differs from that of the earlier plan, which is not used: free memory is estimated from the totals.",
    )
    assert host.gpus[0].free_bytes is None
    assert host.memory_available_bytes == host.memory_total_bytes - 4 * GIB
    assert host.cgroup_headroom_bytes == host.cgroup_limit_bytes


def test_a_new_kernel_is_no_other_hardware():
    slightly = {"memory": {"total_bytes": 449 * GIB - (32 << 20), "available_bytes": 78 * GIB}}
    assert stand_on(running(**slightly), host_from_topology(TOPOLOGY), True)[1] == ()


def test_a_running_instance_without_an_earlier_plan():
    host, notes = stand_on(running(), None, True)
    assert notes == (
        "The instance runs and no earlier plan says what was free before it started: free memory is estimated from the totals.",
    )
    assert host.memory_available_bytes == 445 * GIB


def test_a_limit_that_was_set_since_counts():
    host, _notes = stand_on(running(virtualisation={"kind": "lxc"}), host_from_topology(TOPOLOGY), True)
    assert host.memlock_bytes == 8 << 20


@pytest.mark.parametrize(
    ("topology", "message"),
    [
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


@pytest.mark.parametrize("data", [{}, {"gpus": []}, {"gpus": 7, "memory": None}, {"memory": {"total_bytes": "x"}}])
def test_a_record_that_was_edited_until_it_cannot_be_read_is_none(data):
    assert earlier_host(data) is None


def test_a_record_that_can_be_read():
    host = host_from_topology(TOPOLOGY)
    assert earlier_host(host.as_dict()) == host


def test_an_observation_of_the_wrong_shape():
    with pytest.raises(
        PlanningError,
        match=r"^memory in The observation is nothing; expected a dictionary: leave it out, and planning observes anew\.$",
    ):
        host_from_observation({"gpus": []})
