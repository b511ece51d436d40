# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tokens, requests and pools of a rank."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB
from ansible_collections.blackwell.inference.plugins.module_utils.model.attention import (
    GqaGeometry,
    HybridGeometry,
    MlaGeometry,
    OtherAttention,
    SlidingGeometry,
    StateGeometry,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.pool_inputs import PoolOptions
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.parallelism import Speculation
from ansible_collections.blackwell.inference.tests.unit.planning.device.pool_cases import (
    VERSIONS,
    inputs_of,
    inputs_recorded,
    model_of,
    recorded,
    rest_gib,
    rules_of,
    size_pools,
    size_stages,
)

KIMI = model_of(MlaGeometry(512, 64, 64), 61, "KimiK25ForConditionalGeneration")
DEEPSEEK_V3 = model_of(MlaGeometry(512, 64, 128), 61, "DeepseekV3ForCausalLM", draft_layers=1)
DEEPSEEK_V32 = model_of(MlaGeometry(512, 64, 128, 128), 61, "DeepseekV32ForCausalLM", draft_layers=1)
QWEN3_32B = model_of(GqaGeometry(64, 8, 128, 128), 64, "Qwen3ForCausalLM")
QWEN3_5_9B = model_of(
    HybridGeometry(GqaGeometry(16, 4, 256, 256), StateGeometry(32, 16, 128, 128, 4), "lllf" * 8),
    32,
    "Qwen3_5ForConditionalGeneration",
)
EAGLE3 = model_of(GqaGeometry(64, 8, 128, 128), 1, "LlamaForCausalLMEagle3")


def gemma4(full: int, sliding: int):
    attention = SlidingGeometry(
        GqaGeometry(16, 2, 512, 512), GqaGeometry(16, 8, 256, 256), 1024, "f" * full + "s" * sliding
    )
    return model_of(attention, full + sliding, "Gemma4ForConditionalGeneration")


@pytest.mark.parametrize(
    "start", recorded(), ids=lambda start: f"{start['version']} {start['family']} {start['fraction']:.3f}"
)
def test_what_the_engine_s_own_functions_give(start):
    """Zero differences over 444 starts of 19 versions: tokens of either pool, slots of states, rows of the request table."""
    found = size_pools(inputs_recorded(start), rules_of(start["version"]))
    assert found.tokens == start["tokens"]
    if "request_rows" in start:
        slots = (found.slots("sliding"), found.slots("state"), found.requests.rows)
        assert slots == (start["sliding_slots"], start["state_slots"], start["request_rows"])


@pytest.mark.parametrize(("fraction", "tokens"), [(0.85, 116187), (0.88, 159294), (0.93, 231140)])
def test_the_design_host(fraction, tokens):
    """The engine's profile function with these two-decimal inputs; its log says 116171, 159277, 231120."""
    found = size_pools(inputs_of(KIMI, "94.04", "21.71", fraction, 8), rules_of("0.5.9"))
    assert (found.tokens, found.profiled_tokens) == (tokens, tokens)
    assert [(pool.name, pool.kind, pool.slot_bytes, pool.padding_slots) for pool in found.pools] == [
        ("KV cache", "full", 70272, 1)
    ]


@pytest.mark.parametrize(
    ("model", "before", "after", "fraction", "tp", "others", "version", "tokens", "tolerance"),
    [
        pytest.param(
            QWEN3_32B,
            "60.82",
            "56.67",
            0.72,
            16,
            {"page": 128},
            "0.5.7",
            1298816,
            0,
            id="Qwen3-32B on 16 Ascend dies: 1 of 8 heads a rank",
        ),
        pytest.param(
            DEEPSEEK_V32,
            "60.77",
            "28.85",
            0.79,
            32,
            {"page": 128, "dp": 8},
            "0.5.7",
            220416,
            1e-3,
            id="DeepSeek-V3.2 on 32 Ascend dies",
        ),
        pytest.param(
            gemma4(5, 25),
            "22.91",
            "13.57",
            0.85,
            2,
            {"ratio": 0.1},
            "0.5.12",
            530280,
            2e-3,
            id="gemma-4-26B, ratio 0.1",
        ),
        pytest.param(
            gemma4(5, 25),
            "22.91",
            "13.57",
            0.85,
            2,
            {"ratio": 0.03},
            "0.5.12",
            815815,
            2e-3,
            id="gemma-4-26B, ratio 0.03",
        ),
        pytest.param(
            gemma4(5, 25),
            "22.91",
            "13.57",
            0.85,
            2,
            {"ratio": 0.5},
            "0.5.12",
            176760,
            2e-3,
            id="gemma-4-26B, ratio 0.5",
        ),
        pytest.param(
            gemma4(8, 40), "22.91", "17.5", 0.85, 2, {"ratio": 0.1}, "0.5.12", 459425, 4e-3, id="gemma-4-12B, ratio 0.1"
        ),
        # 14.08 GiB is what rank 0 logs; 186 slots and 327,310 tokens together need 14.042 on the poorer rank
        pytest.param(QWEN3_5_9B, "22.93", "14.042", 0.8, 2, {}, "0.5.10", 327310, 1e-4, id="Qwen3.5-9B on 2 RTX 4090"),
    ],
)
def test_starts_that_were_logged(model, before, after, fraction, tp, others, version, tokens, tolerance):
    options = PoolOptions(
        page_size=others.get("page", 1), swa_full_tokens_ratio=others.get("ratio"), max_running_requests=32
    )
    found = size_pools(
        inputs_of(model, before, after, fraction, tp, dp=others.get("dp", 1), options=options), rules_of(version)
    )
    assert found.tokens == pytest.approx(tokens, rel=tolerance)


def test_states_of_a_logged_start():
    """186 slots, 62 running, 4.38 GiB of states on Qwen3.5-9B with 2 ranks: (186 + 1) x 24 layers x 16 heads x 128 x 128 x 4 bytes."""
    found = size_pools(inputs_of(QWEN3_5_9B, "22.93", "14.042", 0.8, 2), rules_of("0.5.10"))
    state = next(pool for pool in found.pools if pool.kind == "state")
    window = (32 * 128 + 2 * 16 * 128) // 2 * 3 * 2
    assert (state.slots, state.slot_bytes, state.padding_slots) == (186, 24 * (16 * 128 * 128 * 4 + window), 1)
    assert found.requests.limit == 62


def test_index_keys_are_a_pool_of_their_own():
    """DeepSeek-V3.2 in fp8: the profiler counts 576 + 132 bytes a layer up to 0.5.16 where 656 + 132 are stored; since 0.5.17 it counts those."""
    inputs = inputs_of(DEEPSEEK_V32, "94.00", "30.00", 0.88, 8, dtype="fp8_e4m3", options=PoolOptions(page_size=64))
    rest = int(rest_gib(inputs, rules_of("0.5.16")) * GIB)
    for version, cell in (("0.5.16", 61 * (576 + 132)), ("0.5.17", 61 * (656 + 132))):
        found = size_pools(inputs, rules_of(version))
        assert found.tokens == rest // cell // 64 * 64
        assert [(pool.kind, pool.slot_bytes) for pool in found.pools] == [("full", 61 * 656), ("indexer", 61 * 132)]
    assert size_pools(inputs, rules_of("0.5.16")).size_bytes > rest  # more than the budget


@pytest.mark.parametrize(
    ("version", "tokens"),
    [
        pytest.param("0.5.6", 159294 + 48 * 3 + 48 * 4 + 100, id="0.5.6 adds drafts of 48 requests and 100"),
        pytest.param("0.5.7", 159294, id="0.5.7 to 0.5.13 leave the draft outside"),
        pytest.param("0.5.13", 159294, id="0.5.13"),
        pytest.param("0.5.14", 156725, id="0.5.14 counts a layer like the target's: 70,272 + 1,152 = 71,424"),
    ],
)
def test_an_eagle_draft(version, tokens):
    """Kimi-K2.5 with an EAGLE-3 draft of one Llama layer: 1 of 8 heads a rank, 128 + 128, bf16: 512 bytes a token really."""
    speculation = Speculation("EAGLE3", 3, 1, 4, EAGLE3)
    found = size_pools(inputs_of(KIMI, "94.04", "21.71", 0.88, 8, speculation=speculation), rules_of(version))
    assert found.tokens == tokens
    assert [(pool.name, pool.slots, pool.slot_bytes) for pool in found.pools if pool.kind == "draft"] == [
        ("draft KV cache", tokens, 512)
    ]
    assert found.requests.limit == 48
    assert found.requests.table_bytes == (48 + rules_of(version).request_rows_extra) * (262144 + 4 + 4) * 4


def test_draft_weights_are_loaded_before_the_sizes_since_0_5_14():
    speculation = Speculation("EAGLE3", 3, 1, 4, EAGLE3)
    light = inputs_of(KIMI, "94.04", "21.71", 0.88, 8, speculation=speculation)
    heavy = replace(light, draft_weights_bytes=2 * GIB)
    assert size_pools(heavy, rules_of("0.5.13")).tokens == size_pools(light, rules_of("0.5.13")).tokens
    less = size_pools(light, rules_of("0.5.14")).tokens - size_pools(heavy, rules_of("0.5.14")).tokens
    assert less == pytest.approx(2 * GIB / 71424, abs=1)


@pytest.mark.parametrize(
    ("model", "counted"),
    [
        pytest.param(DEEPSEEK_V3, True, id="DeepSeek: the engine takes the checkpoint itself for the draft"),
        pytest.param(replace(QWEN3_5_9B, draft_layers=1), False, id="Qwen3.5: no room is made for its MTP layer"),
    ],
)
def test_mtp_layers_of_the_checkpoint(model, counted):
    inputs = inputs_of(
        model,
        "94.00",
        "40.00",
        0.88,
        2,
        speculation=Speculation("EAGLE", 1, 1, 2),
        options=PoolOptions(max_running_requests=16),
    )
    found = size_pools(inputs, rules_of("0.5.20"))
    without = size_pools(replace(inputs, model=replace(model, architecture="SomeForCausalLM")), rules_of("0.5.20"))
    assert (found.tokens < without.tokens) is counted
    assert found.slots("draft") == found.tokens


def test_stages_agree_on_the_poorest():
    """61 layers in 4 stages: 15, 15, 15, 16 since 0.5.6, and 15, 15, 15, 16 in 0.5.5 too; in 5 stages 12 x 4 and 13, all the rest in 0.5.5."""
    inputs = inputs_of(KIMI, "94.04", "60.00", 0.88, 2, pp=3)
    rest = int(rest_gib(inputs, rules_of("0.5.9")) * GIB)
    assert size_pools(inputs, rules_of("0.5.9")).tokens == rest // (1152 * 21)
    assert [stage.pools[0].slot_bytes // 1152 for stage in size_stages(inputs, rules_of("0.5.9"))] == [20, 20, 21]
    assert {stage.tokens for stage in size_stages(inputs, rules_of("0.5.9"))} == {rest // (1152 * 21)}


def test_up_to_0_5_9_each_stage_makes_its_table_of_what_fits_in_itself():
    """15, 15, 15 and 16 layers: a stage with fewer fits more tokens before all agree, and its table is longer."""
    inputs = inputs_of(KIMI, "94.04", "40.00", 0.88, 2, pp=4)
    rest = int(rest_gib(inputs, rules_of("0.5.9")) * GIB)
    fifteen, sixteen = (int(rest // (1152 * layers) / 262144 * 512) for layers in (15, 16))
    assert 2048 < sixteen < fifteen < 4096
    old, new = (size_stages(inputs, rules_of(version)) for version in ("0.5.9", "0.5.10"))
    assert [stage.requests.rows for stage in old] == [fifteen, fifteen, fifteen, sixteen]
    assert [stage.requests.rows for stage in new] == [sixteen] * 4


@pytest.mark.parametrize(
    ("version", "starts"), [("0.5.7", True), ("0.5.8", False), ("0.5.16", False), ("0.5.17", True)]
)
def test_a_stage_without_attending_layers(version, starts):
    """16 stages of "ll" and "lf" by turns: 0.5.8 to 0.5.16 divide by the zero bytes of a token; before, every stage counts all attending layers."""
    inputs = inputs_of(QWEN3_5_9B, "22.91", "13.57", 0.85, pp=16)
    assert (size_pools(inputs, rules_of(version)).tokens > 0) == starts


def test_a_version_that_has_no_sliding_pool():
    """gpt-oss up to 0.5.7 keeps every token in every layer; since 0.5.8 its sliding layers have a pool of their own."""
    attention = SlidingGeometry(GqaGeometry(64, 8, 64, 64), GqaGeometry(64, 8, 64, 64), 128, "sf" * 18)
    inputs = inputs_of(model_of(attention, 36, "GptOssForCausalLM"), "94.00", "30.00", 0.88, 2)
    assert [pool.kind for pool in size_pools(inputs, rules_of("0.5.7")).pools] == ["full"]
    assert [pool.kind for pool in size_pools(inputs, rules_of("0.5.8")).pools] == ["full", "sliding"]
    off = replace(inputs, options=PoolOptions(hybrid_sliding_memory=False))
    assert [pool.kind for pool in size_pools(off, rules_of("0.5.23")).pools] == ["full"]


def test_a_sliding_pool_too_small_for_a_request_is_no_start():
    """Since 0.5.16: window 1,024 + page 1 >= int(2,048 x 0.5)."""
    options = PoolOptions(max_total_tokens=2048, swa_full_tokens_ratio=0.5)
    inputs = inputs_of(gemma4(5, 25), "22.91", "13.57", 0.85, 2, options=options)
    assert size_pools(inputs, rules_of("0.5.15")).tokens == 2048
    assert (size_pools(inputs, rules_of("0.5.16")).tokens, size_pools(inputs, rules_of("0.5.16")).pools) == (0, ())


def test_groups_of_attention_data_parallelism():
    """8 ranks in 2 groups: 4 ranks share the heads of a group, and a group runs half the requests; the table was for all up to 0.5.9."""
    inputs = inputs_of(QWEN3_32B, "94.00", "80.00", 0.88, 8, dp=2, options=PoolOptions(max_running_requests=64))
    old, new = (size_pools(inputs, rules_of(version)) for version in ("0.5.9", "0.5.10"))
    assert old.pools[0].slot_bytes == 2 * 256 * 64 * 2
    assert (old.requests.limit, old.requests.rows) == (32, 64)
    assert (new.requests.limit, new.requests.rows) == (32, 32)


@pytest.mark.parametrize(("version", "starts"), [("0.5.9", False), ("0.5.22", False), ("0.5.23", True)])
def test_fewer_requests_than_groups_are_one_for_each_since_0_5_23_and_no_start_before(version, starts):
    inputs = inputs_of(QWEN3_32B, "94.00", "80.00", 0.88, 8, dp=4, options=PoolOptions(max_running_requests=3))
    found = size_pools(inputs, rules_of(version))
    assert (found.tokens > 0) == starts
    assert not starts or (found.requests.limit, found.requests.rows) == (1, 1)


def test_weights_that_leave_nothing():
    found = size_pools(inputs_of(KIMI, "94.04", "21.71", 0.75, 8), rules_of("0.5.23"))
    assert (found.tokens, found.pools, found.size_bytes) == (0, (), 0)


def test_unknown_attention_is_a_type_error():
    inputs = inputs_of(model_of(OtherAttention("layers of a new kind", 8), 8), "94.04", "21.71", 0.88)
    with pytest.raises(TypeError, match="layers of a new kind are not known"):
        size_pools(inputs, rules_of("0.5.23"))


GEOMETRIES = st.one_of(
    st.builds(MlaGeometry, st.just(512), st.just(64), st.just(64), st.sampled_from([None, 128])),
    st.builds(
        GqaGeometry, st.just(64), st.sampled_from([1, 2, 8, 64]), st.sampled_from([64, 128]), st.sampled_from([64, 128])
    ),
)


@given(
    geometry=GEOMETRIES,
    layers=st.integers(4, 96),
    version=st.sampled_from(VERSIONS),
    page=st.sampled_from([1, 16, 64, 128]),
    tp=st.sampled_from([1, 2, 4, 8]),
    pp=st.integers(1, 4),
    after=st.integers(0, 90 * GIB),
    fraction=st.floats(0.01, 0.99),
    cap=st.none() | st.integers(1, 1 << 22),
)
def test_properties(geometry, layers, version, page, tp, pp, after, fraction, cap):
    """Whole pages, never below 0, never above a cap or what fits, more with a higher fraction; what is counted stays within the rest."""
    rules = rules_of(version)
    model = model_of(geometry, layers)
    inputs = replace(
        inputs_of(model, "90", "0", fraction, tp, pp=pp, options=PoolOptions(page_size=page, max_total_tokens=cap)),
        free_after_bytes=after,
    )
    found = size_pools(inputs, rules)
    assert found.tokens >= 0
    assert found.tokens % page == 0
    assert found.tokens <= found.profiled_tokens
    assert cap is None or found.tokens <= cap
    more = size_pools(replace(inputs, fraction=min(0.999, fraction + 0.01)), rules)
    assert more.tokens >= found.tokens
    held = sum(pool.slots * pool.slot_bytes for pool in found.pools)
    # keys and values alike in bf16: the profiler is exact but for values of another size before 0.5.7
    if rules.value_dim_counted or isinstance(geometry, MlaGeometry):
        assert held <= max(0, rest_gib(inputs, rules) * GIB)


@given(
    version=st.sampled_from(VERSIONS),
    after=st.integers(20 * GIB, 90 * GIB),
    fraction=st.floats(0.5, 0.95),
    ratio=st.sampled_from([0.0625, 0.1, 0.5, 0.8, 1.0]),
    page=st.sampled_from([1, 16, 64]),
)
def test_properties_of_sliding_pools(version, after, fraction, ratio, page):
    """Since 0.5.9 both pools together keep within the rest, in whole pages, and the sliding one is the wished share of the full one."""
    options = PoolOptions(page_size=page, swa_full_tokens_ratio=ratio)
    inputs = replace(inputs_of(gemma4(5, 25), "90", "0", fraction, 2, options=options), free_after_bytes=after)
    rules = rules_of(version)
    found = size_pools(inputs, rules)
    sliding = found.slots("sliding")
    assert sliding % page == 0
    held = sum(pool.slots * pool.slot_bytes for pool in found.pools)
    assert held <= max(0, rest_gib(inputs, rules) * GIB)
    if sliding:
        assert abs(sliding - found.tokens * ratio) <= 2 * page


def test_tokens_beyond_the_budget_can_be_all_there_are():
    """0.5.6 with EAGLE and 5,000 requests: 140,100 tokens on top of less than nothing, all of them outside the budget."""
    inputs = inputs_of(
        QWEN3_32B,
        "94.00",
        "18.00",
        0.8,
        8,
        speculation=Speculation("EAGLE", 5, 4, 8, EAGLE3),
        options=PoolOptions(max_running_requests=5000),
    )
    assert rest_gib(inputs, rules_of("0.5.6")) < 0
    found = size_pools(inputs, rules_of("0.5.6"))
    assert 0 < found.tokens < 5000 * (5 * 4 + 8) + 100
    assert size_pools(inputs, rules_of("0.5.7")).tokens == 0
