# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan where there was one before: what stands is planned again byte for byte, and what differs takes in what is known by now."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB
from ansible_collections.blackwell.inference.plugins.module_utils.planning.planner import plan_memory
from ansible_collections.blackwell.inference.plugins.module_utils.planning.previous_plan import (
    Recorded,
    plan_or_keep,
    recorded_from_dict,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.host import host_from_topology

CARD = {"state": "ok", "memory_total_bytes": 102641958912, "memory_free_bytes": 95 * GIB}
TOPOLOGY = {
    "gpus": [{"index": index, "uuid": f"GPU-{index}", **CARD} for index in range(8)],
    "memory": {"total_bytes": 449 * GIB, "available_bytes": 445 * GIB},
    "cgroup": {"version": 2, "limit_bytes": 448 * GIB, "current_bytes": 2 * GIB},
}
WISHES = {"mem_fraction_static": 0.88, "hicache_size": 48}
OTHER = [{"unit": "sglang-other.service", "memory_bytes": 30 * GIB}]


def fresh(others=(), **more):
    return host_from_topology({**copy.deepcopy(TOPOLOGY), **more}, others)


def standing(others=(), **more):
    """The same host while the instance runs: the cards are full and memory is pinned."""
    full = [{**gpu, "memory_free_bytes": 5 * GIB} for gpu in TOPOLOGY["gpus"]]
    memory = {"total_bytes": 449 * GIB, "available_bytes": 77 * GIB}
    return fresh(others, **{"gpus": full, "memory": memory, **more})


@pytest.fixture
def settle(request_for):
    """`settle(recorded, host, running, **options)`: the plan as the next run makes it, as a record would hold it."""

    def settled(recorded, host, running=True, **options):
        request = request_for(**{**WISHES, **options})
        plan = plan_or_keep(recorded, replace(request, host=host), running, plan_memory)
        return json.loads(json.dumps(plan.as_dict()))

    return settled


NOTHING = Recorded({}, None)


def again(plan, calibration=None, passed=True):
    return recorded_from_dict({"plan": plan, "calibration": calibration, "verdict": {"passed": passed}})


def test_a_stopped_instance_is_observed_anew(settle):
    first = settle(NOTHING, fresh(), running=False)
    assert settle(again(first), fresh(OTHER), running=False)["observation"] == fresh(OTHER).as_dict()


@pytest.mark.parametrize("others", [(), OTHER], ids=["alone", "another engine came"])
def test_a_run_that_changes_nothing_plans_the_same_bytes(settle, others):
    first = settle(NOTHING, fresh(), running=False)
    assert json.dumps(settle(again(first), standing(others))) == json.dumps(first)


def test_a_changed_plan_takes_in_what_another_engine_took_and_then_stands(settle):
    first = settle(NOTHING, fresh(), running=False)
    changed = settle(again(first), standing(OTHER), hicache_size=40)
    assert changed["observation"]["memory"]["available_bytes"] == 415 * GIB
    assert changed["observation"]["memory"]["source"] == "meminfo, corrected by what other engines took since"
    assert changed["observation"]["cgroup"]["headroom_bytes"] == 416 * GIB
    assert settle(again(changed), standing(OTHER), hicache_size=40) == changed
    assert settle(again(changed), standing(), hicache_size=40) == changed, "nothing of this instance changed"


def test_what_another_engine_gave_back_counts_too(settle):
    first = settle(NOTHING, fresh(OTHER), running=False)
    changed = settle(again(first), standing(), hicache_size=40)
    assert changed["observation"]["memory"]["available_bytes"] == 449 * GIB, "no more than there is"
    twice = settle(again(changed), standing(OTHER), hicache_size=44)
    assert twice["observation"]["memory"]["source"] == "meminfo, corrected by what other engines took since"


def test_cards_that_the_instance_does_not_use_are_as_they_are_now(settle, llama):
    options = {"model": llama, "calibration": {}, "hicache_size": None}
    first = settle(NOTHING, fresh(), running=False, tp=4, **options)
    assert first["gpu"]["cards"] == [0, 1, 2, 3]
    gpus = [{**gpu, "memory_free_bytes": (5 if gpu["index"] < 4 else 90) * GIB} for gpu in TOPOLOGY["gpus"]]
    changed = settle(again(first), standing(gpus=gpus), tp=8, **options)
    assert [gpu["free_bytes"] // GIB for gpu in changed["observation"]["gpus"]] == [95] * 4 + [90] * 4


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"gpus": [{**gpu, "uuid": f"GPU-{gpu['index']}b"} for gpu in TOPOLOGY["gpus"]]}, id="other cards"),
        pytest.param({"memory": {"total_bytes": 512 * GIB, "available_bytes": 78 * GIB}}, id="more memory"),
        pytest.param({"cgroup": {"limit_bytes": 447 * GIB, "current_bytes": 1}}, id="another limit"),
    ],
)
def test_other_hardware_is_not_taken_for_the_recorded_one(settle, more):
    first = settle(NOTHING, fresh(), running=False)
    found = settle(again(first), standing(OTHER, **more))
    assert found["notes"][0] == (
        "The hardware differs from that of the earlier plan, which is not used: free memory is estimated from the totals."
    )
    memory = found["observation"]["memory"]
    assert {gpu["free_bytes"] for gpu in found["observation"]["gpus"]} == {None}
    assert memory["available_bytes"] == memory["total_bytes"] - 34 * GIB
    assert found["observation"]["cgroup"]["headroom_bytes"] == found["observation"]["cgroup"]["limit_bytes"] - 30 * GIB
    assert settle(again(found), standing(OTHER, **more)) == found, "and the next run says the same"


def test_a_new_kernel_is_no_other_hardware(settle):
    first = settle(NOTHING, fresh(), running=False)
    slightly = {"memory": {"total_bytes": 449 * GIB - (32 << 20), "available_bytes": 78 * GIB}}
    assert settle(again(first), standing(**slightly)) == first


def test_a_running_instance_without_a_record(settle):
    found = settle(NOTHING, standing())
    assert found["notes"][0] == (
        "The instance runs and no earlier plan says what was free before it started: free memory is estimated from the totals."
    )
    assert found["observation"]["memory"]["available_bytes"] == 445 * GIB
    assert settle(again(found), standing()) == found, "and the next run says the same"


def test_a_limit_that_was_set_since_counts(settle):
    first = settle(NOTHING, fresh(), running=False)
    boxed = {"virtualisation": {"kind": "lxc"}, "memlock": {"soft_bytes": 60 * GIB, "hard_bytes": 60 * GIB}}
    assert settle(again(first), standing(**boxed))["observation"]["memlock_bytes"] == 60 * GIB


@pytest.mark.parametrize(
    ("plan", "fault"),
    [
        (None, None),
        ([1], "The recorded plan is a list where a dictionary was expected: it is left aside."),
        ("x", "The recorded plan is the text 'x' where a dictionary was expected: it is left aside."),
        (
            {"observation": {"memory": {"total_bytes": "x"}}},
            "The recorded plan is left aside: cgroup in The observation is nothing; expected a dictionary: leave it out, and planning observes anew.",
        ),
        (
            {"observation": 7},
            "The recorded plan is left aside: The observation is 7; expected a dictionary: leave it out, and planning observes anew.",
        ),
        (
            {},
            "The recorded plan is left aside: memory in The observation is nothing; expected a dictionary: leave it out, and planning observes anew.",
        ),
    ],
    ids=["none", "a list", "a text", "edited", "another shape", "empty"],
)
def test_a_record_that_cannot_be_read_is_left_aside(plan, fault):
    recorded = recorded_from_dict({"plan": plan})
    assert recorded.host is None
    assert recorded.faults == (() if fault is None else (fault,))


def test_a_record_with_a_list_that_is_none(settle):
    first = settle(NOTHING, fresh(), running=False)
    for gpus in (7, "x", [7]):
        edited = {**first, "observation": {**first["observation"], "gpus": gpus}, "gpu": {"cards": 7}}
        assert recorded_from_dict({"plan": edited}).host is None
        assert recorded_from_dict({"plan": edited}).cards is None


# What the first start of a model left that nobody had measured: 60 MiB less before the load, 1 GiB more weights than estimated.
CALIBRATION = {
    "schema": 1,
    "measured": "journal 2026-02-24",
    "engine_version": "0.5.9",
    "model": {"name": "llama-8b", "identity": "f00d"},
    "ranks": 8,
    "free_before_load_bytes": 94 * GIB,
    "free_after_load_bytes": 91 * GIB,
    "graph_bytes": 3 * GIB,
    "graph_batch": 512,
    "gpu_memory_total_bytes": 102641958912,
    "arguments": {"tp-size": 8, "mem-fraction-static": 0.88, "cuda-graph-max-bs": 512},
}


@pytest.fixture
def settle_llama(settle, llama):
    model = replace(llama, identity="f00d")
    return lambda *more, **options: settle(
        *more, **{"model": model, "calibration": {}, "hicache_size": None, **options}
    )


def source_of(plan, name):
    return next(line["source"] for line in plan["gpu"]["lines"] if line["name"] == name)


def test_a_run_that_changes_nothing_leaves_what_was_measured_alone(settle_llama):
    first = settle_llama(NOTHING, fresh(), running=False)
    assert first["calibration"] is None
    assert json.dumps(settle_llama(again(first, CALIBRATION), standing(OTHER))) == json.dumps(first)


def test_a_changed_plan_stands_on_what_was_measured_and_then_stays(settle_llama):
    first = settle_llama(NOTHING, fresh(), running=False)
    changed = settle_llama(again(first, CALIBRATION), standing(), mem_fraction_static=0.8)
    assert changed["gpu"]["base_bytes"] == 94 * GIB
    for name in ("CUDA context and NCCL", "weights", "CUDA graphs"):
        assert source_of(changed, name) == "measured: journal 2026-02-24"
    later = {**CALIBRATION, "measured": "journal 2026-02-25", "free_after_load_bytes": 90 * GIB}
    for record in (CALIBRATION, later, None, [1]):
        assert settle_llama(again(changed, record), standing(), mem_fraction_static=0.8) == changed
    third = settle_llama(again(changed, later), standing(), mem_fraction_static=0.7)
    assert source_of(third, "weights") == "measured: journal 2026-02-25"


def test_a_stopped_instance_is_planned_with_what_was_measured(settle_llama):
    first = settle_llama(NOTHING, fresh(), running=False)
    second = settle_llama(again(first, CALIBRATION), fresh(), running=False)
    assert source_of(second, "weights") == "measured: journal 2026-02-24"
    assert settle_llama(again(second, CALIBRATION), standing()) == second


def test_a_plan_that_its_start_proved_wrong_is_corrected_once(settle_llama):
    first = settle_llama(NOTHING, fresh(), running=False)
    corrected = settle_llama(again(first, CALIBRATION, passed=False), standing(OTHER))
    assert source_of(corrected, "weights") == "measured: journal 2026-02-24"
    assert corrected["observation"] == first["observation"]
    for passed in (True, False):
        assert settle_llama(again(corrected, CALIBRATION, passed), standing(OTHER)) == corrected


@pytest.mark.parametrize(
    "other",
    [
        {"engine_version": "0.5.23"},
        {"model": {"name": "llama-8b", "identity": "beef"}},
        {"model": {"name": "llama-8b", "identity": None}},
        {"model": "llama-8b"},
        {"ranks": 4},
        {"gpu_memory_total_bytes": 32 * GIB},
        {"arguments": {"quantization": "fp8"}},
        {"arguments": None},
        {"arguments": {**CALIBRATION["arguments"], "tp-size": 4, "pp-size": 2}},
        {"arguments": {**CALIBRATION["arguments"], "dp-size": 8}},
        {"arguments": {**CALIBRATION["arguments"], "attn-dp-size": 8}},
        {"free_after_load_bytes": "x"},
    ],
    ids=[
        "version",
        "checkpoint",
        "no identity",
        "model",
        "ranks",
        "cards",
        "way to load",
        "no arguments",
        "stages",
        "groups",
        "groups of 0.5.22",
        "edited",
    ],
)
def test_figures_of_another_start_are_not_used(settle_llama, other):
    first = settle_llama(NOTHING, fresh(), running=False)
    assert settle_llama(again(first, {**CALIBRATION, **other}), fresh(), running=False) == first


def test_graphs_of_another_largest_batch_are_taken_in_proportion(settle_llama):
    second = settle_llama(again({}, CALIBRATION), fresh(), running=False, cuda_graph_max_bs=128)
    (graphs,) = (line for line in second["gpu"]["lines"] if line["name"] == "CUDA graphs")
    assert graphs["size_bytes"] == 3 * GIB // 4
    assert graphs["source"] == "estimate: in proportion to what 512 requests took, measured: journal 2026-02-24"


def test_graphs_that_are_captured_in_another_way_are_estimated(settle_llama):
    record = {**CALIBRATION, "arguments": {"cuda-graph-bs": [1, 2]}}
    second = settle_llama(again({}, record), fresh(), running=False)
    assert source_of(second, "CUDA graphs").startswith("estimate: 7.5 MiB for each of 512 requests")
    assert source_of(second, "weights") == "measured: journal 2026-02-24"


@pytest.mark.parametrize("shared", [{"pp": 2, "tp": 4}, {"dp": 8}])
def test_figures_of_a_start_that_shared_the_weights_in_the_same_way_are_used(settle_llama, shared):
    options = {**shared, "running": False}
    first = settle_llama(NOTHING, fresh(), **options)
    flags = {f"{name}-size": value for name, value in shared.items()}
    second = settle_llama(again(first, {**CALIBRATION, "arguments": flags}), fresh(), **options)
    assert source_of(second, "weights") == "measured: journal 2026-02-24"
    assert settle_llama(again(second, CALIBRATION), standing(), **shared) == second


def test_graphs_of_a_start_without_drafts_say_nothing_of_one_with_them(settle_llama):
    second = settle_llama(again({}, CALIBRATION), fresh(), running=False, speculative_algorithm="NGRAM")
    assert source_of(second, "CUDA graphs").startswith("estimate: 7.5 MiB")
    assert source_of(second, "weights") == "measured: journal 2026-02-24"


def test_what_was_measured_here_beats_a_profile(settle_llama):
    profile = {"kind": "profile", "ranks": 8, "graph_bytes": GIB, "activation_bytes": 5 * GIB}
    second = settle_llama(again({}, CALIBRATION), fresh(), running=False, calibration=profile)
    assert source_of(second, "CUDA graphs") == "measured: journal 2026-02-24"
    assert second["calibration"]["activation_bytes"] == 5 * GIB, "which no start measures"
