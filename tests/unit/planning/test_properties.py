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

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import FORCEABLE, PlanningError
from ansible_collections.blackwell.inference.plugins.module_utils.model.attention import (
    GqaGeometry,
    HybridGeometry,
    MlaGeometry,
    SlidingGeometry,
    StateGeometry,
)
from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import ModelSpec, Weights, model_from_dict
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.gpu_budget import gpu_budget, gpu_case
from ansible_collections.blackwell.inference.plugins.module_utils.planning.plan import MemoryPlan
from ansible_collections.blackwell.inference.plugins.module_utils.planning.planner import plan_memory
from ansible_collections.blackwell.inference.plugins.module_utils.planning.previous_plan import (
    plan_or_keep,
    recorded_from_dict,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.report.text import report_lines
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.hardware import host_from_hardware
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.host import host_from_observation
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.request import PlanRequest
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.serving import (
    WISHES,
    serving_from_dict,
)
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.dialect import dialect_for
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.flags.table import VERSIONS as RECORDED

# Sizes are reckoned in floats of GiB, and the minimum over ranks in single precision.
_FLOAT_BYTES = 1 << 15
VERSIONS = st.sampled_from(RECORDED)
HEADS = st.sampled_from([1, 2, 4, 8, 16, 64])
WIDTHS = st.sampled_from([64, 128, 256])
LATENT = st.builds(MlaGeometry, st.sampled_from([128, 256, 512]), st.sampled_from([32, 64]), st.just(64))
INDEXED = st.builds(MlaGeometry, st.just(512), st.just(64), st.just(64), st.just(128))
GROUPED = st.builds(GqaGeometry, st.just(64), HEADS, WIDTHS, WIDTHS)
# An architecture that keeps its sliding layers in a pool of their own in every version, and one that never does.
SLIDING, PLAIN = "Llama4ForConditionalGeneration", "Drawn"


@st.composite
def patterns(draw, letters):
    """Layers in turns, one of each kind at least."""
    return (letters + draw(st.text(letters, min_size=0, max_size=6))) * draw(st.integers(1, 12))


@st.composite
def sliding(draw):
    one = draw(GROUPED)
    return SlidingGeometry(
        one, draw(st.sampled_from([one, replace(one, head_dim=64, v_head_dim=64)])), 512, draw(patterns("sf"))
    )


@st.composite
def hybrids(draw):
    state = StateGeometry(
        draw(st.sampled_from([32, 64])),
        draw(st.sampled_from([16, 32])),
        128,
        128,
        4,
        draw(st.sampled_from(["bfloat16", "float32"])),
    )
    return HybridGeometry(draw(st.one_of(LATENT, GROUPED)), state, draw(patterns("lf")))


FAMILIES = {
    "mla": LATENT,
    "indexed": INDEXED,
    "gqa": GROUPED,
    "sliding": sliding(),
    "hybrid": hybrids(),
}


@st.composite
def models(draw, family=None):
    attention = draw(FAMILIES[family or draw(st.sampled_from(sorted(FAMILIES)))])
    layers = (
        len(attention.pattern)
        if isinstance(attention, (SlidingGeometry, HybridGeometry))
        else draw(st.integers(1, 128))
    )
    return ModelSpec(
        name="drawn",
        architecture=SLIDING if isinstance(attention, SlidingGeometry) else PLAIN,
        model_type="drawn",
        quantization=None,
        dtype="bfloat16",
        kv_cache_dtype=draw(st.sampled_from(["bfloat16", "fp8_e4m3"])),
        layers=layers,
        hidden_size=4096,
        vocab_size=1000,
        max_position_embeddings=draw(st.integers(2048, 1_000_000)),
        multimodal=draw(st.booleans()),
        experts=None,
        attention=attention,
        weights=Weights(draw(st.integers(10**9, 8 * 10**11)), draw(st.integers(1, 200)), "safetensors"),
        draft_layers=draw(st.sampled_from([0, 1])),
    )


def draft_for(model: ModelSpec) -> ModelSpec:
    one = Weights(2 * 10**9, 1, "safetensors")
    return replace(
        model,
        name="draft",
        architecture=PLAIN,
        layers=1,
        attention=GqaGeometry(64, 8, 128, 128),
        weights=one,
        draft_layers=0,
    )


DRAFTING = (
    {},
    {"speculative_algorithm": "EAGLE", "speculative_num_steps": 3, "speculative_eagle_topk": 1},
    {"speculative_algorithm": "EAGLE3", "speculative_num_steps": 5, "speculative_eagle_topk": 1},
    {"speculative_algorithm": "NGRAM", "speculative_num_draft_tokens": 8},
)


@st.composite
def requests(draw, drafting=DRAFTING, groups=True, family=None, **fixed):
    """Any model on any hardware with any wishes; the refusals that can be forced are, unless `force` says otherwise."""
    tp = fixed.get("tp", draw(st.sampled_from([1, 2, 4, 8, 16])))
    dialect = dialect_for(draw(VERSIONS))
    ram = draw(st.integers(32, 4096))
    drafted = draw(st.sampled_from(drafting))
    dp = draw(st.sampled_from([1, 2, tp])) if groups and tp > 1 else 1
    pp = draw(st.sampled_from([1, 1, 2])) if groups and not drafted else 1
    options = {
        "tp": tp,
        "dp": dp,
        "pp": pp,
        "mem_fraction_static": draw(st.floats(0.05, 0.99)),
        "page_size": draw(st.sampled_from([None, 1, 16, 64])),
        "headroom_gib": 0,
        "host_reserve_gib": draw(st.integers(0, 20)),
        "force": sorted(FORCEABLE),
        **drafted,
        **draw(st.sampled_from([{}, {"hicache": True}, {"hicache_ratio": 1.5}, {"hicache_size": 20}])),
    }
    hardware = {"gpus": tp * pp, "gpu_memory_gib": draw(st.integers(16, 288)), "ram_gib": ram}
    model = draw(models(family))
    return PlanRequest(
        model=model,
        rules=dialect.rules,
        dialect=dialect.name,
        serving=serving_from_dict({**options, **fixed}),
        host=host_from_hardware(hardware),
        draft=draft_for(model) if drafted.get("speculative_algorithm") == "EAGLE3" else None,
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
def test_a_plan_is_in_whole_pages_and_never_negative(request):
    plan = planned(request)
    assume(plan is not None)
    page = request.page_size
    assert plan.tokens > 0
    assert plan.tokens % page == 0
    for pool in plan.pools.pools:
        assert pool.slots >= 0
        assert pool.slot_bytes > 0
        assert "state" in pool.kind or pool.slots % page == 0
    assert plan.host.available_after_start_bytes >= 0
    assert plan.host.ledger.left_bytes >= 0
    assert all(line.size_bytes >= 0 and line.source for line in (*plan.gpu.ledger.lines, *plan.host.ledger.lines))
    if plan.pool is not None:
        assert plan.pool.tokens % page == 0
        assert plan.pool.bytes_per_rank * request.ranks <= request.host.memory_available_bytes


@given(requests(force=[]))
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_a_plan_that_nobody_forced_fits_the_cards_and_the_host(request):
    plan = planned(request)
    assume(plan is not None)
    gpu, host = plan.gpu.ledger, plan.host
    assert sum(line.size_bytes for line in gpu.lines) <= gpu.capacity.size_bytes
    assert host.ledger.left_bytes >= host.reserve_bytes


@given(requests(drafting=({},), pp=1))
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_pools_stay_within_the_fraction(request):
    """Where the engine's profiler counts what the pools store; where it does not, the plan says so by its headroom."""
    attention, rules = request.model.attention, request.rules
    assume(not isinstance(attention, SlidingGeometry) or rules.sliding_split == "direct")
    assume(rules.latent_row_counted or not getattr(attention, "index_head_dim", None))
    assume(rules.value_dim_counted or not isinstance(attention, (GqaGeometry, HybridGeometry, SlidingGeometry)))
    plan = planned(request)
    assume(plan is not None)
    held = sum(pool.slots * pool.slot_bytes for pool in plan.pools.pools)
    assert plan.gpu.base_bytes * plan.gpu.fraction + _FLOAT_BYTES >= plan.gpu.weights_bytes + held


@given(requests(), st.booleans())
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
def test_a_plan_fed_its_own_outputs_is_the_same_plan(request, free):
    """With the fraction given and with the fraction left to the plan."""
    if free:
        request = replace(request, serving=replace(request.serving, mem_fraction_static=None))
    plan = planned(request)
    assume(plan is not None)
    asked = {key: getattr(request.serving, key) for key in WISHES}
    told = {key: value for key, value in plan.settings.items() if key in WISHES}
    size, ratio = told.get("hicache_size"), told.get("hicache_ratio")
    again = planned(
        replace(request, serving=serving_from_dict({**asked, **told, "hicache_size": size, "hicache_ratio": ratio}))
    )
    assert again is not None
    assert again.settings == plan.settings
    assert again.pools == plan.pools
    assert again.as_dict()["gpu"] == plan.as_dict()["gpu"]
    assert again.as_dict()["host_cache"] == plan.as_dict()["host_cache"]


@given(requests())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_the_same_input_gives_the_same_bytes(request):
    plan = planned(request)
    assume(plan is not None)
    again = planned(replace(request, host=host_from_observation(json.loads(json.dumps(plan.as_dict()["observation"])))))
    assert json.dumps(again.as_dict()) == json.dumps(plan.as_dict())
    assert report_lines(again.as_dict()) == report_lines(plan.as_dict())


@given(requests(), st.floats(0.05, 0.98), st.floats(0.0, 0.9))
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_a_higher_fraction_never_holds_less_nor_leaves_more_free(request, low, step):
    """Of a hybrid the states and the tokens share: one more state may cost as many tokens as it is worth."""
    high = low + step * (0.99 - low)
    poor, rich = (gpu_budget(gpu_case(request, False), fraction) for fraction in (low, high))
    state = sum(pool.slot_bytes for pool in rich.pools.pools if "state" in pool.kind)
    cell = sum(pool.slot_bytes for pool in rich.pools.pools if pool.kind == "full")
    spare = state // cell + 1 + request.page_size if cell and state else 0
    assert poor.pools.slots("state") <= rich.pools.slots("state")
    assert poor.tokens <= rich.tokens + spare
    slack = (request.page_size + 1) * sum(pool.slot_bytes for pool in rich.pools.pools) if state else 0
    assert rich.headroom_bytes <= poor.headroom_bytes + slack


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


@given(requests(tp=1, groups=False))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_more_ranks_never_hold_fewer_tokens_each(request):
    card = request.host.gpus[0]
    tokens = []
    for tp in (1, 2, 4, 8):
        gpus = tuple(replace(card, index=index) for index in range(tp))
        wider = replace(request, serving=replace(request.serving, tp=tp), host=replace(request.host, gpus=gpus))
        tokens.append(gpu_budget(gpu_case(wider, False), 0.9).tokens)
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
    second = plan_or_keep(recorded, replace(request, host=now), True, plan_memory)
    assert json.dumps(second.as_dict()) == json.dumps(first)
