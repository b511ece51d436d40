# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for every plan: monotone, never negative, in whole pages, the same twice."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import PlanningError
from ansible_collections.blackwell.inference.plugins.module_utils.engine.dialect import dialect_for
from ansible_collections.blackwell.inference.plugins.module_utils.planning.attention import GqaGeometry, MlaGeometry
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device_pool import gpu_budget
from ansible_collections.blackwell.inference.plugins.module_utils.planning.hardware import host_from_hardware
from ansible_collections.blackwell.inference.plugins.module_utils.planning.host_seen import host_from_observation
from ansible_collections.blackwell.inference.plugins.module_utils.planning.model_spec import (
    ModelSpec,
    Weights,
    model_from_dict,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.plan import MemoryPlan
from ansible_collections.blackwell.inference.plugins.module_utils.planning.planner import plan_memory
from ansible_collections.blackwell.inference.plugins.module_utils.planning.recorded import (
    recorded_from_dict,
    settled_plan,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.report import report_lines
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request import PlanRequest
from ansible_collections.blackwell.inference.plugins.module_utils.planning.serving import FORCEABLE, serving_from_dict

VERSIONS = st.sampled_from(["0.5.9", "0.5.10", "0.5.12", "0.5.14", "0.5.18", "0.5.19", "0.5.21", "0.5.23"])
GEOMETRIES = st.one_of(
    st.builds(MlaGeometry, st.integers(16, 1024), st.integers(8, 128), st.just(64)),
    st.builds(
        GqaGeometry,
        st.just(64),
        st.sampled_from([1, 2, 4, 8, 16, 64]),
        st.sampled_from([64, 128, 256]),
        st.sampled_from([64, 128]),
    ),
)


@st.composite
def models(draw):
    return ModelSpec(
        name="drawn",
        architecture="Drawn",
        model_type="drawn",
        quantization=None,
        dtype="bfloat16",
        kv_cache_dtype=draw(st.sampled_from(["bfloat16", "fp8_e4m3"])),
        layers=draw(st.integers(1, 128)),
        hidden_size=4096,
        vocab_size=1000,
        max_position_embeddings=draw(st.integers(2048, 1_000_000)),
        multimodal=draw(st.booleans()),
        experts=None,
        attention=draw(GEOMETRIES),
        weights=Weights(draw(st.integers(10**9, 8 * 10**11)), draw(st.integers(1, 200)), "safetensors"),
    )


@st.composite
def requests(draw, **fixed):
    tp = fixed.get("tp", draw(st.sampled_from([1, 2, 4, 8, 16])))
    version = draw(VERSIONS)
    ram = draw(st.integers(32, 4096))
    wishes = {
        "tp": tp,
        "mem_fraction_static": draw(st.floats(0.05, 0.99)),
        "page_size": draw(st.sampled_from([None, 1, 16, 64])),
        "headroom_gib": 0,
        "host_reserve_gib": draw(st.integers(0, 20)),
        **draw(st.sampled_from([{}, {"hicache": True}, {"hicache_ratio": 1.5}, {"hicache_size": 20}])),
    }
    hardware = {"gpus": tp, "gpu_memory_gib": draw(st.integers(16, 288)), "ram_gib": ram}
    return PlanRequest(
        model=draw(models()),
        rules=dialect_for(version).rules,
        dialect=dialect_for(version).name,
        serving=serving_from_dict({**wishes, **fixed, "force": sorted(FORCEABLE)}),
        host=host_from_hardware(hardware),
    )


def planned(request) -> MemoryPlan | None:
    refusals = []
    try:
        return plan_memory(request)
    except PlanningError as refused:
        refusals = refused.details["refusals"]
    assert refusals
    assert all(row["message"].endswith(".") for row in refusals)
    return None


@given(requests())
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_a_plan_stays_within_what_there_is(request):
    plan = planned(request)
    assume(plan is not None)
    page = request.page_size
    assert plan.tokens > 0
    assert plan.tokens % page == 0
    assert plan.gpu.base_bytes * plan.gpu.fraction + 1 >= plan.gpu.weights_bytes + plan.tokens * plan.cell_bytes
    assert plan.host.available_after_start_bytes >= 0
    assert plan.host.ledger.left_bytes >= 0
    assert all(line.size_bytes >= 0 and line.source for line in (*plan.gpu.ledger.lines, *plan.host.ledger.lines))
    if plan.pool is not None:
        assert plan.pool.tokens % page == 0
        assert plan.pool.bytes_per_rank * request.serving.tp <= request.host.memory_available_bytes


@given(requests())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_the_same_input_gives_the_same_bytes(request):
    plan = planned(request)
    assume(plan is not None)
    again = planned(replace(request, host=host_from_observation(json.loads(json.dumps(plan.as_dict()["observation"])))))
    assert json.dumps(again.as_dict()) == json.dumps(plan.as_dict())
    assert report_lines(again) == report_lines(plan)


@given(requests(), st.floats(0.05, 0.98), st.floats(0.0, 0.9))
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
def test_a_higher_fraction_never_holds_fewer_tokens_nor_leaves_more_free(request, low, step):
    high = low + step * (0.99 - low)
    poor, rich = gpu_budget(request, low, False), gpu_budget(request, high, False)
    assert poor.tokens <= rich.tokens
    assert rich.headroom_bytes <= poor.headroom_bytes


@given(requests(tp=8), st.integers(1, 64))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_more_host_memory_never_fits_less(request, more_gib):
    richer = replace(
        request,
        host=replace(
            request.host,
            memory_total_bytes=request.host.memory_total_bytes + (more_gib << 30),
            memory_available_bytes=request.host.memory_available_bytes + (more_gib << 30),
        ),
    )
    plan, more = planned(request), planned(richer)
    if plan is not None:
        assert more is not None
        assert more.size_gb_that_fits >= plan.size_gb_that_fits


@given(requests(tp=1))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_more_ranks_never_hold_fewer_tokens_each(request):
    card = request.host.gpus[0]
    tokens = []
    for tp in (1, 2, 4, 8):
        gpus = tuple(replace(card, index=index) for index in range(tp))
        wider = replace(request, serving=replace(request.serving, tp=tp), host=replace(request.host, gpus=gpus))
        tokens.append(gpu_budget(wider, 0.9, False).tokens)
    assert tokens == sorted(tokens)


@given(models())
def test_a_model_is_what_it_was_written_as(model):
    assert model_from_dict(json.loads(json.dumps(model.as_dict()))) == model


@pytest.mark.parametrize("free_gib", [0, 1, 60, 94, 300])
def test_memory_that_others_take_while_the_instance_runs_changes_no_plan(request_for, free_gib):
    """The plan before the start and the plan after it are the same bytes, whatever the host shows meanwhile."""
    request = request_for(hicache_size=48)
    first = plan_memory(request).as_dict()
    now = replace(request.host, memory_available_bytes=free_gib << 30)
    recorded = recorded_from_dict({"plan": json.loads(json.dumps(first))})
    second = settled_plan(recorded, replace(request, host=now), True, plan_memory)
    assert json.dumps(second.as_dict()) == json.dumps(first)
