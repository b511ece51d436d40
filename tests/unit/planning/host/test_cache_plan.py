# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host's part of a plan: several pools on a rank, what a version cannot cache, and what `free -h` will show."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GB, GIB
from ansible_collections.blackwell.inference.plugins.module_utils.model.attention import MlaGeometry
from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import ModelSpec, Weights
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.pools import (
    DevicePools,
    Pool,
    RunningRequests,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.host.cache_choice import (
    auto_ratio,
    mirrored_bytes,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.host.cache_plan import plan_host_cache
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.hardware import host_from_hardware
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.request import PlanRequest
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.serving import serving_from_dict
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.dialect import dialect_for, sizing_rules
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.version import EngineVersion

KIMI = Pool("KV cache", "full", 159_294, 70_272, 1)
QWEN = (Pool("KV cache", "full", 300_000, 15_360, 1), Pool("state pool", "state", 200, 3_000_000, 1))
GPT = (
    Pool("KV cache", "full", 400_000, 9_216, 64),
    Pool("sliding-window KV cache", "sliding", 320_000, 9_216, 64),
)
DEEPSEEK = (Pool("KV cache", "full", 100_032, 70_272, 64), Pool("indexer keys", "indexer", 100_032, 8_052, 64))
DRAFT = Pool("draft KV cache", "draft", 159_294, 1_152, 1)


def device(*pools):
    tokens = pools[0].slots if pools else 0
    return DevicePools(tokens, tokens, RunningRequests(48, 48, 0), pools)


@pytest.fixture
def planned(request_for, rules_of):
    """`planned(version, pools, draft=..., stages=..., host={...}, **options)`: the host's part of a plan for the design host."""

    def make(version, pools, draft=None, stages=1, host=None, **options):
        request = request_for(**options)
        request = replace(request, rules=rules_of(version), host=replace(request.host, **(host or {})), draft=draft)
        return plan_host_cache(request, (device(*pools),) * stages)

    return make


def messages(plan):
    return {refusal.name: refusal.message for refusal in plan.refusals}


@pytest.mark.parametrize(
    ("version", "pools", "message"),
    [
        (
            "0.5.9",
            QWEN,
            "SGLang 0.5.9 has no host cache for models with linear-attention or state-space layers; 0.5.10 was the first that has: "
            "set hicache to false, or choose a newer version.",
        ),
        (
            "0.5.12",
            GPT,
            "SGLang 0.5.12 has no host cache for models with sliding-window layers in a pool of their own; 0.5.13 was the first that has: "
            "set hicache to false, or choose a newer version.",
        ),
        (
            "0.5.8",
            DEEPSEEK,
            "SGLang 0.5.8 keeps no index keys of sparse attention in host memory, so that what it loads back is incomplete; "
            "0.5.9 was the first that does: set hicache to false, or choose a newer version.",
        ),
        (
            "0.5.14",
            QWEN,
            "The layout page_first is asked for; for a model with linear-attention or state-space layers SGLang 0.5.14 starts only with page_first_direct: "
            "set hicache_mem_layout to page_first_direct and hicache_io_backend to direct.",
        ),
    ],
)
def test_what_a_version_cannot_cache_is_refused(planned, version, pools, message):
    plan = planned(version, pools, hicache_ratio=2.0)
    assert messages(plan) == {"hicache_unsupported": message}
    assert not plan.refusals[0].overridable
    assert planned(version, pools).refusals == ()


@pytest.mark.parametrize(
    ("version", "pools", "options"),
    [
        ("0.5.10", QWEN, {}),
        ("0.5.13", GPT, {}),
        ("0.5.9", DEEPSEEK, {}),
        ("0.5.14", QWEN, {"hicache_io_backend": "direct"}),
        ("0.5.15", QWEN, {"hicache_mem_layout": "page_first_direct"}),
        ("0.5.16", QWEN, {}),
    ],
)
def test_the_first_versions_that_can(planned, version, pools, options):
    plan = planned(version, pools, hicache_ratio=2.0, **options)
    assert plan.refusals == ()
    assert plan.cache is not None


def test_layer_first_holds_no_states_since_0_5_16(planned):
    plan = planned("0.5.23", QWEN, hicache_ratio=2.0, hicache_mem_layout="layer_first")
    assert "SGLang 0.5.23 starts only with page_first or page_first_direct" in messages(plan)["hicache_unsupported"]


def test_a_size_that_each_pool_of_a_hybrid_takes_whole_is_refused_with_what_fits(planned):
    plan = planned("0.5.16", QWEN, hicache_size=30)
    assert plan.size_gb_that_fits == 26
    assert messages(plan)["host_memory"] == (
        "hicache_size 30 asks for 60.00 GB (KV cache 30.00 GB, state pool 30.00 GB) on each of 8 ranks, 480.02 GB in all; this host has 477.82 GB available "
        "(operator), the engine's processes take 35.86 GB of that, and host_reserve_gib 10 keeps 10.74 GB. At most 26 GB per rank fit: lower hicache_size or "
        "hicache_ratio, or set hicache_size to null without a hicache_ratio and let the plan choose."
    )
    assert planned("0.5.17", QWEN, hicache_size=30).refusals == ()


def test_each_pool_has_a_line(planned):
    lines = planned("0.5.23", QWEN, hicache_ratio=2.0).host.ledger.lines
    assert [(line.name, line.size_bytes, line.source) for line in lines[2:]] == [
        ("host cache (KV cache) of 8 ranks", 8 * 600_001 * 15_360, "plan: 600,001 tokens of 15,360 bytes for each"),
        ("host cache (state pool) of 8 ranks", 8 * 401 * 3_000_000, "plan: 401 states of 3,000,000 bytes for each"),
    ]


def test_a_state_pool_too_small_is_refused_up_to_0_5_14(planned):
    """A pool's own size decides: 1 GB are 334 states, and less than the tokens of the device."""
    plan = planned("0.5.13", QWEN, hicache_size=4)
    assert messages(plan)["host_cache_too_small"] == (
        "hicache_size 4 makes a host pool (KV cache) of 260,417 tokens beside 300,000 tokens on the device; SGLang 0.5.13 starts only when the host holds "
        "more. Set hicache_ratio above 1 or hicache_size to more than 4, or set hicache to false."
    )
    assert planned("0.5.16", QWEN, hicache_size=4).refusals == ()


@pytest.mark.parametrize(
    ("algorithm", "row", "pools"), [("NEXTN", 71_424, 1), ("EAGLE", 71_424, 1), ("EAGLE3", 70_272, 2)]
)
def test_mtp_layers_are_packed_since_0_5_18(planned, algorithm, row, pools):
    plan = planned("0.5.18", (KIMI, DRAFT), speculative_algorithm=algorithm, hicache_ratio=2.0)
    assert (plan.cache.pools[0].slot_bytes, len(plan.cache.pools)) == (row, pools)


def test_a_draft_checkpoint_is_never_packed(planned, llama):
    plan = planned("0.5.18", (KIMI, DRAFT), draft=llama, speculative_algorithm="EAGLE", hicache_ratio=2.0)
    assert [pool.kind for pool in plan.cache.pools] == ["full", "draft"]


def test_where_the_weights_leave_no_device_pool_nothing_is_mirrored(planned):
    """The plan is refused for want of GPU memory, and says only that."""
    request = planned("0.5.9", (), hicache_size=48)
    assert (request.cache, request.refusals, request.size_gb_that_fits) == (None, (), 0)


def test_all_pipeline_stages_count(planned):
    plan = planned("0.5.23", (KIMI,), stages=2, hicache_size=20, tp=4)
    assert plan.cache.ranks == 8
    assert plan.cache.bytes_total == 8 * plan.cache.bytes_per_rank
    assert plan.host.ledger.lines[0].name == "8 rank processes"
    assert plan.size_gb_that_fits == planned("0.5.23", (KIMI,), hicache_size=20).size_gb_that_fits


@pytest.mark.parametrize(("version", "shared"), [("0.5.12", 1.0), ("0.5.13", 334.6)])
def test_what_free_h_shows(planned, version, shared):
    """The design host after its start of 2026-02-24: 449 GiB, 370 used, 78 available."""
    shown = planned(version, (KIMI,), host={"shared_bytes": GIB}, hicache_ratio=4.0).host.free_h()
    assert shown == {
        "total_gib": 449.0,
        "used_gib": 371.0,
        "shared_gib": shared,
        "available_gib": 78.0,
        "tolerance_gib": 2.0,
    }


def test_the_measured_start_is_within_the_tolerance(planned, case):
    shown = planned("0.5.9", (KIMI,), hicache_ratio=4.0).host.free_h()
    measured = case["host_cache"][2]["free_h_after"]
    assert {name: shown[name] for name in measured} == pytest.approx(measured, abs=shown["tolerance_gib"])


def test_the_zfs_cache_counts_as_taken_and_the_refusal_says_what_it_could_give(planned):
    host = {"zfs_arc_bytes": 64 * GB, "zfs_arc_min_bytes": 4 * GB, "memory_available_bytes": 200 * GIB}
    message = messages(planned("0.5.9", (KIMI,), host=host, hicache_size=48))["host_memory"]
    assert message.endswith(
        " The ZFS cache holds 64.00 GB and can go down to 4.00 GB, but not at once, so that it counts as taken: lower zfs_arc_max, wait until it has "
        "shrunk, and plan again."
    )


def test_reserved_huge_pages_are_named(planned):
    host = {"huge_pages_bytes": 16 * GIB, "memory_available_bytes": 40 * GIB}
    message = messages(planned("0.5.9", (KIMI,), host=host))["host_memory"]
    assert message.endswith(
        " 17.18 GB are reserved as huge pages, which the engine does not use: lower vm.nr_hugepages to have them back."
    )


def test_what_is_wrong_without_a_cache_does_not_hide_that_the_cache_never_fits(planned):
    plan = planned("0.5.9", (KIMI,), host={"memory_available_bytes": 40 * GIB}, hicache_size=48)
    assert [(refusal.name, refusal.overridable) for refusal in plan.refusals] == [
        ("host_memory", True),
        ("host_memory", False),
    ]


@pytest.mark.parametrize(
    ("version", "size", "certain"),
    [
        # 0.5.18: each rank sees 435 GiB for its first pool and 435 GiB less that pool for its second.
        ("0.5.18", 200, True),
        # 0.5.19: (445 - 10) GiB / 8 are 58.38 GB for each pool of a rank.
        ("0.5.19", 60, True),
        ("0.5.19", 54, False),
    ],
)
def test_what_the_engines_check_ends_cannot_be_forced(planned, version, size, certain):
    plan = planned(version, (KIMI,), hicache_size=size, host_reserve_gib=12)
    assert [refusal.overridable for refusal in plan.refusals] == [not certain]


def test_the_engines_check_sees_its_processes_whatever_the_reserve(planned):
    """(445 - 33.4) GiB / 8 are 55.24 GB, and 53.90 GB with the engine's own 10 GiB: 54 GB are not certain to fail, but nothing to start with."""
    options = {"hicache_size": 54, "host_reserve_gib": 0}
    (refusal,) = planned("0.5.23", (KIMI,), **options).refusals
    assert refusal.overridable
    assert (
        "host_reserve_gib 0 keeps 0.00 GB; the engine's own check keeps 10.74 GB and leaves 53.90 GB to each rank. At most 53 GB per rank fit"
        in refusal.message
    )
    assert planned("0.5.18", (KIMI,), **options).refusals == ()
    assert planned("0.5.23", (KIMI,), **options).size_gb_that_fits == 53


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        pytest.param(4.4 * GIB, 2.0, id="plenty"),
        pytest.param(1000, 0.0760, id="1,000 bytes: 800 of them, less a twentieth, for 10,000"),
        pytest.param(0, 0.0, id="nothing"),
    ],
)
def test_the_engines_own_ratio(rules_of, allowed, expected):
    pools = device(Pool("KV cache", "full", 99, 100, 1))
    assert auto_ratio((pools,), int(allowed), 0.8, rules_of("0.5.21")) == pytest.approx(expected)


def test_the_poorest_stage_decides_the_engines_own_ratio(rules_of):
    stages = (device(Pool("KV cache", "full", 99, 100, 1)), device(Pool("KV cache", "full", 99, 200, 1)))
    assert auto_ratio(stages, 1000, 0.8, rules_of("0.5.21")) == pytest.approx(0.038)


def test_a_draft_of_fewer_slots_counts_with_those_that_it_follows():
    pools = device(Pool("KV cache", "full", 1000, 10, 0), Pool("draft KV cache", "draft", 100, 2, 0))
    assert mirrored_bytes(pools) == 1000 * 10 + 1000 * 2


def test_a_fraction_of_the_hosts_memory_becomes_the_ratio_that_the_engine_would_take(planned):
    """int((445 - 33.4 - 10) GiB // 8 * 0.25) * 0.95 over 11.19 GB of device pool: its processes are up when the engine looks."""
    arguments = {"hicache-host-memory-fraction": 0.25}
    plan = planned("0.5.21", (KIMI,), arguments=arguments, hicache=True)
    assert plan.cache.ratio == 1.143
    assert plan.notes == ("hicache-host-memory-fraction 0.25 makes a hicache_ratio of 1.143 by the engine's own rule.",)
    assert planned("0.5.20", (KIMI,), arguments=arguments, hicache=True).cache.ratio == 2.0


VERSIONS = st.sampled_from(["0.5.6", "0.5.10", "0.5.16", "0.5.17", "0.5.18", "0.5.19", "0.5.21", "0.5.23"])
MODELS = st.sampled_from([(KIMI,), (KIMI, DRAFT), QWEN, GPT, DEEPSEEK])


MODEL = ModelSpec(
    name="drawn",
    architecture="Drawn",
    model_type="drawn",
    quantization=None,
    dtype="bfloat16",
    kv_cache_dtype="bfloat16",
    layers=1,
    hidden_size=4096,
    vocab_size=1000,
    max_position_embeddings=131_072,
    multimodal=False,
    experts=None,
    attention=MlaGeometry(512, 64, 64),
    weights=Weights(10**9, 1, "safetensors"),
)


def fitting(version, pools, tp, ram):
    rules = sizing_rules(EngineVersion.parse(version))
    request = PlanRequest(
        model=MODEL,
        rules=rules,
        dialect=dialect_for("0.5.23").name,
        serving=serving_from_dict({"tp": tp, "hicache": True}),
        host=host_from_hardware({"gpus": tp, "gpu_memory_gib": 95, "ram_gib": ram}),
    )
    return plan_host_cache(request, (device(*pools),))


@given(VERSIONS, MODELS, st.sampled_from([1, 2, 4, 8, 16]), st.integers(16, 4096), st.integers(0, 512))
def test_more_memory_never_fits_less(version, pools, tp, ram, more):
    poor, rich = fitting(version, pools, tp, ram), fitting(version, pools, tp, ram + more)
    assert poor.size_gb_that_fits <= rich.size_gb_that_fits


@given(VERSIONS, MODELS, st.integers(16, 4096))
def test_more_ranks_never_fit_more_for_each(version, pools, ram):
    fits = [fitting(version, pools, tp, ram).size_gb_that_fits for tp in (1, 2, 4, 8, 16)]
    assert fits == sorted(fits, reverse=True)


@given(VERSIONS, MODELS, st.sampled_from([1, 2, 4, 8, 16]), st.integers(16, 4096))
def test_a_cache_that_nothing_stands_against_is_within_the_budget(version, pools, tp, ram):
    plan = fitting(version, pools, tp, ram)
    if not plan.refusals:
        assert plan.host.ledger.left_bytes >= plan.host.reserve_bytes
        assert sum(line.size_bytes for line in plan.host.ledger.lines[2:]) == plan.cache.bytes_total
        shown = plan.host.free_h()
        assert shown["used_gib"] + shown["available_gib"] == pytest.approx(shown["total_gib"], abs=0.11)
