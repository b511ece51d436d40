# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the collection computes for a case, by the names that the engine's side uses."""

from __future__ import annotations

from typing import Any

from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import model_from_dict
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.auto_fraction import (
    AutoFraction,
    auto_fraction,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.graphs import (
    bracket_of,
    largest_batch,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.pool_inputs import (
    PoolInputs,
    PoolOptions,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.pool_sizing import size_stages
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.pools import (
    DevicePools,
    Pool,
    RunningRequests,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.host.cache_choice import auto_ratio
from ansible_collections.blackwell.inference.plugins.module_utils.planning.host.pools import (
    HostCacheOptions,
    host_pools,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.parallelism import (
    Parallelism,
    Speculation,
)
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.dialect import sizing_rules
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.sizing_rules import SizingRules
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.version import EngineVersion


def rules_of(version: str) -> SizingRules:
    return sizing_rules(EngineVersion.parse(version))


def pool_inputs(case: dict[str, Any], rules: SizingRules) -> PoolInputs:
    model = model_from_dict(case["spec"])
    drafting = case.get("speculation")
    return PoolInputs(
        rules=rules,
        model=model,
        parallelism=Parallelism(case["tp"], case["pp"], case["dp"]),
        kv_cache_dtype=model.kv_cache_dtype if case["kv_cache_dtype"] == "auto" else case["kv_cache_dtype"],
        context_length=case["context_length"] or model.max_position_embeddings,
        fraction=case["fraction"],
        free_before_bytes=case["free_before_bytes"],
        free_after_bytes=case["free_after_bytes"],
        reserve_bytes=rules.multimodal_reserve_bytes if model.multimodal else 0,
        speculation=Speculation(
            drafting["algorithm"],
            drafting["steps"],
            drafting["topk"],
            drafting["draft_tokens"],
            model_from_dict(case["draft_spec"]) if case["draft_spec"] else None,
        )
        if drafting
        else None,
        draft_weights_bytes=case.get("draft_weights_bytes", 0),
        options=PoolOptions(
            page_size=case["page_size"],
            max_total_tokens=case["max_total_tokens"],
            max_running_requests=case["max_running_requests"],
            swa_full_tokens_ratio=case.get("swa_full_tokens_ratio"),
            state_full_memory_ratio=case.get("mamba_full_memory_ratio"),
            max_state_slots=case.get("max_state_slots"),
            radix_cache=case.get("radix_cache", True),
            state_extra_buffer=case.get("state_extra_buffer", False),
        ),
    )


def device(case: dict[str, Any], version: str) -> dict[str, Any]:
    rules = rules_of(version)
    stages = size_stages(pool_inputs(case, rules))
    # A stage that keeps nothing of a token is not among them: then only what all stages share can be compared.
    whole = len(stages) == case["pp"]
    pools = stages[case["pp_rank"] if whole else 0]
    if pools.tokens == 0:
        return {"refused": True}
    of_stage = {"kv_bytes": None, "state_slots": None, "state_bytes": None}
    return {
        "tokens": pools.tokens,
        "requests": pools.requests.limit,
        "rows": pools.requests.rows + rules.request_rows_extra,
        "table_bytes": pools.requests.table_bytes,
        "kv_bytes": _bytes(pools, "full", "sliding", "indexer"),
        "sliding_tokens": pools.slots("sliding"),
        "state_slots": pools.slots("state"),
        "state_bytes": _bytes(pools, "state"),
        "draft_tokens": pools.slots("draft"),
        "draft_bytes": _bytes(pools, "draft"),
    } | ({} if whole else of_stage)


def _bytes(pools: DevicePools, *kinds: str) -> int:
    return sum(pool.size_bytes for pool in pools.pools if pool.kind in kinds)


def host(case: dict[str, Any], version: str) -> dict[str, Any]:
    rules = rules_of(version)
    device = _kept(case)
    pool = host_pools(device, HostCacheOptions(case["size_gb"], case["ratio"], case["page_size"]), rules)[0]
    allowed = case["available_bytes"] - rules.host_check_reserve_bytes
    too_small = rules.host_must_exceed_device and pool.slots <= case["device_tokens"]
    if too_small or pool.size_bytes > allowed:
        return {"refused": True}
    return {"tokens": pool.slots, "row_bytes": pool.slot_bytes, "allocated_bytes": pool.allocated_bytes}


def host_ratio(case: dict[str, Any], version: str) -> dict[str, Any]:
    rules = rules_of(version)
    allowed = (case["available_bytes"] - rules.host_check_reserve_bytes) // case["ranks"]
    ratio = auto_ratio((_kept(case),), allowed, case["fraction"], rules)
    return {"ratio": ratio} if ratio > 0 else {"refused": True}


def _kept(case: dict[str, Any]) -> DevicePools:
    """A device pool of keys and values alone."""
    shape = case["shape"]
    element = 2 if case["dtype"] == "bfloat16" else 1
    row = (
        (shape["kv_lora_rank"] + shape["qk_rope_head_dim"]) * case["layers"] * element
        if shape["kind"] == "mla"
        else shape["kv_heads"] * 2 * shape["head_dim"] * case["layers"] * element
    )
    return DevicePools(
        case["device_tokens"],
        case["device_tokens"],
        RunningRequests(1, 1, 0),
        (Pool("KV cache", "full", case["device_tokens"], row, case["page_size"]),),
    )


def fraction(case: dict[str, Any], version: str) -> dict[str, Any]:
    rules, mla = rules_of(version), case["spec"]["attention"]["kind"] == "mla"
    bracket = bracket_of(rules, case["card_mib"] << 20)
    chunk = bracket.chunked_prefill_size if case["chunk"] is None else case["chunk"]
    no_limit = 1 << 40
    batch = largest_batch(bracket, case["tp"], case["graph_batch"], case["max_running_requests"], no_limit, rules)
    longest = (min(8192, chunk) if version == "0.5.23" else 2048) if mla else chunk
    asked = AutoFraction(
        card_mib=case["card_mib"],
        tp=case["tp"],
        pp=case["pp"],
        dp=case["dp"],
        chunk=chunk,
        max_prefill_tokens=case["max_prefill_tokens"],
        graph_batch=batch,
        mla=mla,
        prefill_graph_tokens=longest if case["prefill_graph"] else None,
        algorithm=(case["speculation"] or {}).get("algorithm"),
        # The tower of Kimi-K2.5 as the engine's configuration class has it.
        vision=(27, 1152) if case["spec"]["multimodal"] else None,
    )
    return {"fraction": auto_fraction(asked, rules), "chunk": chunk, "graph_batch": batch}
