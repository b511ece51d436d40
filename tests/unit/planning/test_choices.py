# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is chosen for whom, and what it costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB
from ansible_collections.blackwell.inference.plugins.module_utils.planning.choices import with_target_defaults
from ansible_collections.blackwell.inference.plugins.module_utils.planning.planner import plan_memory


def choices(planned):
    return {choice.name: choice for choice in planned.choices}


@pytest.mark.parametrize(
    ("target", "requests", "batch"), [("throughput", None, None), ("long_context", 32, 32), ("latency", 16, 16)]
)
def test_a_target_sets_what_nobody_fixed(request_for, target, requests, batch):
    serving = with_target_defaults(request_for(target=target)).serving
    assert (serving.max_running_requests, serving.cuda_graph_max_bs) == (requests, batch)


def test_what_the_operator_fixed_stays(request_for):
    serving = with_target_defaults(request_for(target="latency", max_running_requests=100)).serving
    assert (serving.max_running_requests, serving.cuda_graph_max_bs) == (100, 16)


def test_a_target_leaves_each_attention_group_a_request(request_for):
    assert with_target_defaults(request_for(target="latency", tp=32, dp=32)).serving.max_running_requests == 32
    assert with_target_defaults(request_for(target="latency", dp=8)).serving.max_running_requests == 16


def test_room_that_a_target_gives_back_becomes_tokens(plan):
    targets = ("throughput", "long_context", "latency")
    graphs = {"graph_bytes": 15 * GIB // 4, "graph_batch": 512}
    plans = {target: plan(target=target, mem_fraction_static=None, calibration=graphs) for target in targets}
    assert [plans[target].gpu.fraction for target in targets] == [0.88, 0.94, 0.94]
    assert plans["long_context"].tokens > plans["throughput"].tokens
    assert all(one.gpu.headroom_bytes >= one.request.gpus[0].total_bytes // 20 for one in plans.values())


@pytest.mark.parametrize(
    ("options", "by"),
    [
        ({}, {"mem_fraction_static": "operator", "max_running_requests": "engine", "cuda_graph_max_bs": "engine"}),
        (
            {"target": "latency", "mem_fraction_static": None},
            {"mem_fraction_static": "plan", "max_running_requests": "plan", "cuda_graph_max_bs": "plan"},
        ),
        ({"max_running_requests": 64}, {"max_running_requests": "operator", "cuda_graph_max_bs": "engine"}),
        ({"hicache_size": 48}, {"hicache_size": "operator", "hicache_write_policy": "engine"}),
        ({"hicache": True}, {"hicache_ratio": "plan"}),
        ({"hicache_size": 48, "hicache_write_policy": "write_back"}, {"hicache_write_policy": "operator"}),
    ],
)
def test_who_chose(plan, options, by):
    found = choices(plan(**options))
    assert {name: found[name].by for name in by} == by


def test_each_choice_says_what_it_costs(plan):
    planned = plan(hicache_size=48, target="latency")
    assert len(planned.choices) == 8
    assert all(choice.costs and choice.why for choice in planned.choices)
    found = choices(planned)
    assert found["hicache_size"].costs == "48.00 GB pinned on each rank, 384.00 GB in all, about 385 s of every start"
    assert found["max_running_requests"].costs == "a table of 0.02 GiB; what comes beyond waits"
    assert found["cuda_graph_max_bs"].why == "for the target latency"


def test_chosen_values_are_told_to_the_engine(plan):
    settings = plan(target="latency").settings
    assert (settings["max_running_requests"], settings["cuda_graph_max_bs"]) == (16, 16)


@pytest.mark.parametrize(
    ("version", "told"),
    [
        ("0.5.9", "; left to itself SGLang would take 0.771, which holds 3,327 tokens"),
        ("0.5.23", "; left to itself SGLang would take 0.758, which does not start"),
    ],
)
def test_what_the_engine_would_do_unasked_is_said(plan, kimi, version, told):
    tower = replace(kimi, vision_layers=27, vision_width=1152)
    assert choices(plan(version=version, model=tower))["mem_fraction_static"].why.endswith(told)


def test_an_image_tower_of_unknown_size_leaves_it_unsaid(plan):
    assert choices(plan())["mem_fraction_static"].why == "leaves 5.53 GiB free after graph capture"


@pytest.mark.parametrize(
    ("options", "name", "value", "by", "why"),
    [
        ({"chunked_prefill_size": -1}, "chunked_prefill_size", -1, "operator", "as asked"),
        ({"chunked_prefill_size": 4096}, "chunked_prefill_size", 4096, "operator", "as asked"),
        (
            {"version": "0.5.23", "max_running_requests": 500_000},
            "max_running_requests",
            78_901,
            "engine",
            "as asked: 500,000, which SGLang 0.5.23 makes 78,901",
        ),
        (
            {"version": "0.5.23", "dp": 2, "max_running_requests": 16},
            "max_running_requests",
            8,
            "engine",
            "as asked: 16, which SGLang 0.5.23 makes 8 in each of 2 groups",
        ),
        (
            {"version": "0.5.23", "cuda_graph_max_bs": 200, "max_running_requests": 16},
            "cuda_graph_max_bs",
            16,
            "engine",
            "as asked: 200, which SGLang 0.5.23 makes 16",
        ),
    ],
)
def test_a_value_that_the_engine_changes_is_its_own_and_says_what_was_asked(plan, options, name, value, by, why):
    found = choices(plan(**{"force": ["headroom"], **options}))[name]
    assert (found.value, found.by, found.why) == (value, by, why)


def test_a_lost_card_does_not_stop_the_comparison(plan, request_for, llama):
    request = request_for(model=llama, tp=4, mem_fraction_static=None)
    lost = tuple(
        replace(gpu, state="lost", total_bytes=0, free_bytes=None) if gpu.index == 7 else gpu
        for gpu in request.host.gpus
    )
    planned = plan_memory(replace(request, host=replace(request.host, gpus=lost)))
    assert "left to itself SGLang would take 0.8" in choices(planned)["mem_fraction_static"].why
