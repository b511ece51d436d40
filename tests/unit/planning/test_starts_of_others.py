# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts that nobody here made: the same arithmetic explains their pools.

What goes in was logged before the pool was made; the pool that the log names is only compared with. docs/measured-starts.md says what is behind each.
"""

from __future__ import annotations

import json
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import PlanningError
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB, gib_to_bytes
from ansible_collections.blackwell.inference.plugins.module_utils.model.config import model_from_config
from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import ModelSpec, Weights
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.pool_inputs import (
    PoolInputs,
    PoolOptions,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.pool_sizing import size_pools
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.pools import DevicePools
from ansible_collections.blackwell.inference.plugins.module_utils.planning.planner import plan_memory
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.hardware import host_from_hardware
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.parallelism import (
    Parallelism,
    Speculation,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.request import PlanRequest
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.serving import serving_from_dict
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.dialect import dialect_for, sizing_rules
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.version import EngineVersion

DATA = Path(__file__).parents[2] / "data"
STARTS: list[dict[str, Any]] = json.loads((DATA / "cases" / "starts.json").read_text())["starts"]
OUTCOMES: list[dict[str, Any]] = json.loads((DATA / "cases" / "outcomes.json").read_text())["outcomes"]
CONFIGS: dict[str, Any] = json.loads((DATA / "cases" / "model_configs.json").read_text())
PRINTED_GIB = 0.005  # the log rounds to two decimals


def sized(start: dict[str, Any]) -> bool:
    return "fraction" in start and "free_before_gib" in start


INDEPENDENT = [start for start in STARTS if start["independent"]]
OUTSIDE = [start for start in STARTS if "outside" in start]
SIZED = [start for start in STARTS if sized(start) and "outside" not in start]
each = pytest.mark.parametrize


def named(start: dict[str, Any]) -> str:
    return str(start["name"])


def model_of(name: str) -> ModelSpec:
    published = DATA / "models" / name / "config.json"
    config = json.loads(published.read_text()) if published.exists() else CONFIGS[name]
    return model_from_config(name, config, None, Weights(1, 1, "safetensors"), "x", name)


def speculation_of(start: dict[str, Any]) -> Speculation | None:
    told = start.get("speculation")
    if told is None:
        return None
    draft = model_of(told["draft"]) if "draft" in told else None
    return Speculation(told["algorithm"], told["steps"], told["topk"], told["draft_tokens"], draft)


def pools_of(start: dict[str, Any], version: str, before_gib: float, after_gib: float) -> DevicePools:
    """By the options and the two free figures of a start, nothing else of its log."""
    inputs = PoolInputs(
        rules=sizing_rules(EngineVersion.parse(version)),
        model=model_of(start["model"]),
        parallelism=Parallelism(start["tp"], start.get("pp", 1), start.get("dp", 1)),
        kv_cache_dtype=start["kv_cache_dtype"],
        context_length=start["context_length"],
        fraction=start.get("fraction", 0.9),
        free_before_bytes=gib_to_bytes(before_gib),
        free_after_bytes=gib_to_bytes(after_gib),
        speculation=speculation_of(start),
        draft_weights_bytes=gib_to_bytes(start.get("free_after_gib", 0) - start["free_after_draft_gib"])
        if "free_after_draft_gib" in start
        else 0,
        options=PoolOptions(
            page_size=start["page_size"],
            max_total_tokens=start.get("max_total_tokens"),
            max_running_requests=start.get("max_running_requests"),
            swa_full_tokens_ratio=start.get("swa_full_tokens_ratio"),
        ),
    )
    return size_pools(inputs)


def predicted(start: dict[str, Any], version: str = "oldest") -> DevicePools:
    return pools_of(start, start["engine"][version], start["free_before_gib"], start["free_after_gib"])


def error(start: dict[str, Any]) -> float:
    return predicted(start).tokens / start["logged"]["tokens"] - 1


def bytes_per_token(start: dict[str, Any], *kinds: str) -> int:
    """Of all layers of one rank, as stored; sizes of memory do not matter for it."""
    pools = pools_of(start, start["engine"]["newest"], 200, 150).pools
    return sum(pool.slot_bytes for pool in pools if pool.kind in kinds)


def test_the_lane_is_wide_enough():
    assert len(INDEPENDENT) == 26
    assert len(SIZED) >= 29
    assert len(OUTSIDE) <= 3


def test_tokens_to_half_a_thousandth_in_the_median_and_a_hundredth_at_most():
    errors = {named(start): error(start) for start in INDEPENDENT if start in SIZED}
    table = "\n".join(f"{value:+.3%}  {name}" for name, value in sorted(errors.items(), key=lambda row: -abs(row[1])))
    assert statistics.median(abs(value) for value in errors.values()) <= 0.0005, table
    assert max(abs(value) for value in errors.values()) <= 0.01, table


@each("start", [start for start in SIZED if not start["independent"]], ids=named)
def test_tokens_where_an_input_was_not_logged_but_is_known(start):
    assert abs(error(start)) <= 0.01, f"{error(start):+.3%}"


@each("start", SIZED, ids=named)
def test_never_fewer_tokens_than_rounding_explains(start):
    """What is allocated between the log's line and the sizing can only make the pool smaller."""
    before, after = start["free_before_gib"] - PRINTED_GIB, start["free_after_gib"] + PRINTED_GIB
    richest = pools_of(start, start["engine"]["oldest"], before, after).tokens
    assert richest >= start["logged"]["tokens"]


@each(
    "start",
    [
        s
        for s in INDEPENDENT
        if s in SIZED and s.get("hosts", 1) == 1 and (s["context_length"] <= 8192 or s["model"] == "Qwen3.5-9B")
    ],
    ids=named,
)
def test_exact_but_for_rounding_where_rotary_tables_stay_or_are_counted(start):
    """All ranks are in the log, and the context is shorter than the tables or a vision tower's is counted: the logged pool lies between
    both ends of the rounded figures.
    """
    before, after = start["free_before_gib"] + PRINTED_GIB, start["free_after_gib"] - PRINTED_GIB
    limiting = pools_of(start, start["engine"]["oldest"], before, after).tokens
    assert limiting - start["page_size"] <= start["logged"]["tokens"]


@each("start", [start for start in SIZED if start["engine"]["oldest"] != start["engine"]["newest"]], ids=named)
def test_a_version_that_is_not_stated_does_not_matter(start):
    assert predicted(start, "oldest").tokens == predicted(start, "newest").tokens


@each("start", [start for start in STARTS if "kv_gib" in start["logged"]], ids=named)
def test_bytes_of_a_token_are_the_logged_ones(start):
    logged, slots = start["logged"]["kv_gib"], start["logged"]["tokens"] + start["page_size"]
    kinds = ("full", "indexer")
    if "index_key_bytes" in start:
        kinds, extra = ("full",), start["index_key_bytes"] * model_of(start["model"]).layers
    else:
        extra = 0
    size = slots * (bytes_per_token(start, *kinds) + extra) / GIB
    assert size == pytest.approx(sum(logged), abs=PRINTED_GIB * len(logged) + 0.001)


@each("start", [start for start in STARTS if "draft_gib" in start["logged"]], ids=named)
def test_bytes_of_a_drafted_token_are_the_logged_ones(start):
    logged, slots = start["logged"]["draft_gib"], start["logged"]["tokens"] + start["page_size"]
    kinds = ("draft",)
    size = slots * bytes_per_token(start, *kinds) / GIB
    if "index_key_bytes" in start:  # of one layer; the usual index key is among the draft's bytes
        size += slots * (start["index_key_bytes"] - 132) / GIB
    assert size == pytest.approx(sum(logged), abs=PRINTED_GIB * len(logged) + 0.001)


@each("start", [start for start in SIZED if "sliding_tokens" in start["logged"]], ids=named)
def test_sliding_pools_follow_the_full_one(start):
    logged, pools, ratio = start["logged"], predicted(start), start["swa_full_tokens_ratio"]
    assert pools.slots("sliding") == int(pools.tokens * ratio)
    assert logged["sliding_tokens"] == int(logged["tokens"] * ratio)


@each("start", [start for start in STARTS if "sliding_gib" in start["logged"]], ids=named)
def test_bytes_of_a_sliding_token_are_the_logged_ones(start):
    logged = start["logged"]
    size = (logged["sliding_tokens"] + start["page_size"]) * bytes_per_token(start, "sliding") / GIB
    assert size == pytest.approx(sum(logged["sliding_gib"]), abs=2 * PRINTED_GIB)


@each("start", [start for start in SIZED if "state_slots" in start["logged"]], ids=named)
def test_states_are_the_logged_ones(start):
    logged, pools = start["logged"], predicted(start)
    assert pools.slots("state") == pytest.approx(logged["state_slots"], abs=1)
    size = (logged["state_slots"] + 1) * bytes_per_token(start, "state") / GIB
    assert size == pytest.approx(sum(logged["state_gib"]), abs=2 * PRINTED_GIB)
    assert pools.requests.limit == pytest.approx(logged["max_running_requests"], abs=1)


@each(
    "start",
    [
        s
        for s in INDEPENDENT
        if s in SIZED and "max_running_requests" in s["logged"] and "state_slots" not in s["logged"]
    ],
    ids=named,
)
def test_requests_are_the_logged_ones(start):
    assert predicted(start).requests.limit == start["logged"]["max_running_requests"]


@each("start", OUTSIDE, ids=named)
def test_what_stands_outside_is_explained(start):
    assert start["outside"].endswith(".")
    assert abs(error(start)) > 0.01


def test_the_pool_outside_is_what_the_log_says_was_left():
    """Free memory fell between the log line and the sizing; by the figure of the sizing itself the logged tokens come out."""
    start = next(row for row in OUTSIDE if "left_for_the_pool_gib" in row)
    left, cell, page = start["left_for_the_pool_gib"], bytes_per_token(start, "full"), start["page_size"]
    low, high = (int((left + step) * GIB) // cell // page * page for step in (-PRINTED_GIB, PRINTED_GIB))
    assert low <= start["logged"]["tokens"] <= high


def test_the_states_outside_are_not_those_of_the_model_taken_for_it():
    """Two starts of one checkpoint differ by a whole number of states beside their tokens, if the states are known."""
    starts = [row for row in OUTSIDE if row["model"] == "Qwen3-Next-80B-A3B"]
    beside = []
    for start in starts:
        rest = start["free_after_gib"] - start["free_before_gib"] * (1 - start["fraction"])
        beside.append(rest - start["logged"]["tokens"] * bytes_per_token(start, "full") / GIB)
    states = (beside[1] - beside[0]) * GIB / bytes_per_token(starts[0], "state")
    assert 0.3 < states % 1 < 0.7


def request_of(case: dict[str, Any], weights_gib: float, engine: str, **serving: Any) -> PlanRequest:
    dialect = dialect_for(engine)
    model = model_of(case["model"])
    speculation = speculation_of(case)
    return PlanRequest(
        model=replace(model, weights=Weights(gib_to_bytes(weights_gib), 16, "safetensors")),
        rules=dialect.rules,
        dialect=dialect.name,
        serving=serving_from_dict(serving),
        host=host_from_hardware(case["hardware"]),
        draft=speculation.draft if speculation else None,
    )


@each("case", [case for case in OUTCOMES if case["outcome"] == "died"], ids=named)
def test_no_case_that_died_is_planned(case):
    with pytest.raises(PlanningError) as refused:
        plan_memory(request_of(case, case["weights_gib"], case["engine"], **case["serving"]))
    assert {row["name"] for row in refused.value.details["refusals"]} & set(case["refusals"])


@each("case", [case for case in OUTCOMES if case["outcome"] == "served"], ids=named)
def test_no_case_that_served_is_refused(case):
    plan = plan_memory(request_of(case, case["weights_gib"], case["engine"], **case["serving"]))
    assert plan.tokens > 0
    assert plan.host.ledger.left_bytes > 0


@each("start", [start for start in INDEPENDENT if start in SIZED], ids=named)
def test_no_start_that_made_its_pools_is_refused(start):
    """The whole plan of it holds the tokens of the sizing alone."""
    taken = (start["free_before_gib"] - start["free_after_gib"]) * start["tp"]
    told = start.get("speculation", {})
    case = {
        **start,
        "hardware": {
            "gpus": start["tp"],
            "gpu_memory_gib": start["free_before_gib"] + 1,
            "gpu_free_before_load_gib": start["free_before_gib"],
            "gpu_free_after_load_gib": start["free_after_gib"],
            "ram_gib": 2000,
        },
    }
    options = {
        "tp": start["tp"],
        "dp": start.get("dp"),
        "mem_fraction_static": start["fraction"],
        "context_length": start["context_length"],
        "page_size": start["page_size"],
        "kv_cache_dtype": start["kv_cache_dtype"],
        "max_running_requests": start.get("max_running_requests"),
        "swa_full_tokens_ratio": start.get("swa_full_tokens_ratio"),
        "speculative_algorithm": told.get("algorithm"),
        "speculative_num_steps": told.get("steps"),
        "speculative_eagle_topk": told.get("topk"),
        "speculative_num_draft_tokens": told.get("draft_tokens"),
    }
    plan = plan_memory(request_of(case, taken, start["engine"]["oldest"], **options))
    page = plan.request.page_size
    assert page == start["page_size"] or "Ascend" in start["accelerator"], (
        "where sparse attention has pages of another size"
    )
    assert plan.tokens == predicted({**start, "page_size": page}).tokens


@each(("draft_gib", "least"), [(0.0, 0.9113), (3.07, 0.9335)])
def test_the_fraction_below_which_an_h200_had_no_pool(draft_gib, least):
    """DeepSeek-V4-Pro on 8 H200, sglang in SemiAnalysisAI/InferenceX issue 2128: 12.25 GiB free of 137.90 after the load, refused at 0.88 with these minima.

    Whether there is a pool at all does not depend on what a token costs, so that DeepSeek-V3's geometry stands in.
    """
    speculation = Speculation("EAGLE", 3, 1, 4) if draft_gib else None
    inputs = PoolInputs(
        rules=sizing_rules(EngineVersion.parse("0.5.14")),
        model=model_of("deepseek-v3"),
        parallelism=Parallelism(8),
        kv_cache_dtype="fp8_e4m3",
        context_length=163840,
        fraction=0.88,
        free_before_bytes=gib_to_bytes(137.90),
        free_after_bytes=gib_to_bytes(12.25),
        speculation=speculation,
        draft_weights_bytes=gib_to_bytes(draft_gib),
    )
    tokens = [
        size_pools(replace(inputs, fraction=fraction)).tokens for fraction in (0.88, least - 0.0002, least + 0.0002)
    ]
    assert tokens[:2] == [0, 0]
    assert tokens[2] > 0
