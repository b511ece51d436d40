# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Device pools of 0.5.5 to 0.5.14: the engine's whole `ModelRunner.__init__`, without a model and without a GPU.

What is replaced: the free memory of the card, the process groups, loading, attention backends and graphs. What is the engine's own:
the layers of a stage, the size of a token, the profile, the split between pools, the table of requests, and every pool, built
of tensors without memory.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any
from unittest import mock

import card
import checkpoints
import refusals
import sizes
import torch
from sglang.srt.distributed.utils import get_pp_indices
from sglang.srt.layers import dp_attention
from sglang.srt.model_executor import model_runner
from sglang.srt.server_args import ServerArgs, set_global_server_args_for_scheduler
from sglang.srt.utils import common

# Where 0.5.9 and later keep what 0.5.5 has in model_runner.
_POOLS = sys.modules.get("sglang.srt.model_executor.model_runner_kv_cache_mixin", model_runner)


class Runner(model_runner.ModelRunner):
    """The engine's runner on a card that is described by a case."""

    def __init__(self, case: dict[str, Any], stage: range, **settings: Any) -> None:
        self.case, self.stage = case, stage
        super().__init__(**settings)

    def init_torch_distributed(self) -> float:
        return card.seen_gib(self.case["free_before_bytes"], self.case["tp"] * self.case["pp"])

    def load_model(self) -> None:
        self.dtype = self.model_config.dtype
        self.model = SimpleNamespace(
            start_layer=self.stage.start,
            end_layer=self.stage.stop,
            quant_config=None,
            forward=lambda pp_proxy_tensors: None,
            modules=lambda: (),
            set_eagle3_layers_to_capture=lambda layers: None,
            model=SimpleNamespace(layers=_layers(self.model_config)),
        )
        if self.is_draft_worker:
            del self.model.start_layer, self.model.end_layer
        self.sliding_window_size = getattr(self.model_config, "sliding_window_size", None)
        self.weight_load_mem_usage = 0.0

    def _nothing(self, *args: Any, **kwargs: Any) -> None:
        return None


for _name in (
    "init_threads_binding",
    "init_shared_mooncake_transfer_engine",
    "init_mindspore_runner",
    "init_routed_experts_capturer",
    "init_cublas",
    "init_attention_backend",
    "kernel_warmup",
    "init_device_graphs",
    "init_piecewise_cuda_graphs",
    "init_piecewise_cuda_graph",
    "init_prefill_cuda_graph",
    "prealloc_symmetric_memory_pool",
    "check_quantized_moe_compatibility",
    "model_specific_adjustment",
):
    if hasattr(model_runner.ModelRunner, _name):
        setattr(Runner, _name, Runner._nothing)


def answer(case: dict[str, Any]) -> dict[str, Any]:
    return refusals.answered(_answer, case)


def _answer(case: dict[str, Any]) -> dict[str, Any]:
    arguments = server_arguments(case)
    config = _config(case, arguments)
    stages = [range(*get_pp_indices(config.num_hidden_layers, rank, case["pp"])) for rank in range(case["pp"])]
    # A pipeline stage takes the smallest count of all stages: ask them all, then each again with that.
    agreement = card.Agreement(None)
    if case["pp"] > 1:
        for rank, stage in enumerate(stages):
            _run(case, _config(case, arguments), server_arguments(case), rank, stage, agreement)
    rank = case["pp_rank"]
    agreement = card.Agreement(min(agreement.seen, default=None))
    target = _run(case, config, arguments, rank, stages[rank], agreement)
    result = _pools(target)
    if case.get("draft_config") and not target.spec_algorithm.is_none():
        draft_config = checkpoints.model_config(
            case["draft_config"], context_length=config.context_len, is_draft_model=True
        )
        draft = _run(case, draft_config, arguments, rank, range(0), agreement, target)
        result["draft_tokens"], result["draft_bytes"] = draft.max_total_num_tokens, _kv_bytes(draft.token_to_kv_pool)
    return result


def server_arguments(case: dict[str, Any]) -> Any:
    """The engine's arguments with their declared defaults, none of its heuristics run; then the case's."""
    arguments = object.__new__(ServerArgs)
    for field in dataclasses.fields(ServerArgs):
        if field.default is not dataclasses.MISSING:
            setattr(arguments, field.name, field.default)
        elif field.default_factory is not dataclasses.MISSING:
            setattr(arguments, field.name, field.default_factory())
    speculation = case.get("speculation") or {}
    arguments.__dict__.update(
        model_path=checkpoints.folder(case["config"]),
        device="cuda",
        tp_size=case["tp"],
        pp_size=case["pp"],
        dp_size=case["dp"],
        enable_dp_attention=case["dp"] > 1,
        page_size=case["page_size"],
        kv_cache_dtype=case["kv_cache_dtype"],
        mem_fraction_static=case["fraction"],
        max_total_tokens=case.get("max_total_tokens"),
        max_running_requests=case.get("max_running_requests"),
        disable_radix_cache=not case.get("radix_cache", True),
        disable_overlap_schedule=not case.get("overlap_schedule", True),
        speculative_algorithm=speculation.get("algorithm"),
        speculative_num_steps=speculation.get("steps"),
        speculative_eagle_topk=speculation.get("topk"),
        speculative_num_draft_tokens=speculation.get("draft_tokens"),
        speculative_draft_model_path=checkpoints.folder(case["draft_config"]) if case.get("draft_config") else None,
        max_mamba_cache_size=case.get("max_state_slots"),
    )
    for key in ("swa_full_tokens_ratio", "mamba_full_memory_ratio"):
        if case.get(key) is not None:
            setattr(arguments, key, case[key])
    for key in ("mamba_scheduler_strategy", "mamba_radix_cache_strategy"):
        if hasattr(arguments, key):
            setattr(arguments, key, "extra_buffer" if case.get("state_extra_buffer") else "no_buffer")
    return arguments


def _config(case: dict[str, Any], arguments: Any) -> Any:
    return checkpoints.model_config(
        case["config"],
        context_length=case.get("context_length"),
        hybrid_kvcache_ratio=getattr(arguments, "hybrid_kvcache_ratio", None),
    )


def _run(
    case: dict[str, Any],
    config: Any,
    arguments: Any,
    rank: int,
    stage: range,
    agreement: card.Agreement,
    target: Any = None,
) -> Runner:
    attention_tp = case["tp"] // case["dp"]
    group = SimpleNamespace(
        world_size=case["tp"] * case["pp"], cpu_group=None, rank=0, local_rank=0, rank_in_group=rank, is_first_rank=True
    )

    replaced: dict[tuple[Any, str], Any] = {
        (_POOLS, "get_world_group"): lambda: group,
        (_POOLS, "get_attention_tp_size"): lambda: attention_tp,
        (dp_attention, "get_attention_tp_size"): lambda: attention_tp,
        (torch.distributed, "all_reduce"): agreement,
        (torch, "get_device_module"): lambda *args: mock.MagicMock(),
    }
    if hasattr(dp_attention, "get_attn_tensor_model_parallel_world_size"):
        replaced[(dp_attention, "get_attn_tensor_model_parallel_world_size")] = lambda: attention_tp
    for name in (
        "compute_initial_expert_location_metadata",
        "set_global_expert_location_metadata",
        "get_global_expert_location_metadata",
        "set_global_expert_distribution_recorder",
        "ExpertDistributionRecorder",
        "ExpertLocationUpdater",
        "create_sampler",
        "set_offloader",
        "create_offloader_from_server_args",
        "sanity_check_mm_pad_shift_value",
        "set_global_experts_capturer",
        "Sampler",
        "apply_torchao_config_to_model",
        "WeightChecker",
    ):
        if hasattr(model_runner, name) and (model_runner, name) not in replaced:
            replaced[(model_runner, name)] = mock.MagicMock()
    settings = {
        "model_config": config,
        "mem_fraction_static": case["fraction"],
        "gpu_id": 0,
        "tp_rank": 0,
        "tp_size": case["tp"],
        "moe_ep_rank": 0,
        "moe_ep_size": 1,
        "pp_rank": rank,
        "pp_size": case["pp"],
        "nccl_port": 0,
        "server_args": arguments,
        "dp_rank": 0 if case["dp"] > 1 else None,
        "is_draft_worker": target is not None,
        "req_to_token_pool": target.req_to_token_pool if target else None,
        "token_to_kv_pool_allocator": target.token_to_kv_pool_allocator if target else None,
    }
    if target is not None and hasattr(target, "memory_pool_config"):
        settings["memory_pool_config"] = target.memory_pool_config
    set_global_server_args_for_scheduler(arguments)
    if getattr(arguments, "mamba_ssm_dtype", None):
        os.environ["SGLANG_MAMBA_SSM_DTYPE"] = arguments.mamba_ssm_dtype  # as the engine's launcher does
    with ExitStack() as stack:
        for (owner, name), value in replaced.items():
            stack.enter_context(mock.patch.object(owner, name, value))
        stack.enter_context(mock.patch("sglang.srt.mem_cache.memory_pool.MHATokenToKVPool._init_kv_copy_and_warmup"))
        stack.enter_context(card.with_free(case["free_after_bytes"]))
        stack.enter_context(mock.patch.object(common, "is_cuda", return_value=True))
        stack.enter_context(sizes.Sizes())
        runner = Runner(case, stage, **settings)
        if not hasattr(runner, "max_total_num_tokens"):  # since 0.5.14 a step of its own
            runner.init_memory_pool(runner.init_torch_distributed())
    return runner


def _layers(config: Any) -> list[Any]:
    """0.5.5 finds sliding-window layers by asking the model."""
    window = getattr(config, "sliding_window_size", None)
    kinds = getattr(config.hf_text_config, "layer_types", None) or ["full_attention"] * config.num_hidden_layers
    return [
        SimpleNamespace(
            layer_id=index,
            self_attn=SimpleNamespace(
                attn=SimpleNamespace(sliding_window_size=window if kind == "sliding_attention" else -1)
            ),
        )
        for index, kind in enumerate(kinds)
    ]


def _pools(runner: Any) -> dict[str, Any]:
    table = runner.req_to_token_pool
    result = {
        "tokens": runner.max_total_num_tokens,
        "requests": _requests(runner),
        "rows": table.req_to_token.shape[0],
        "table_bytes": sizes.bytes_of(table.req_to_token),
        "kv_bytes": _kv_bytes(runner.token_to_kv_pool),
    }
    if getattr(runner, "is_hybrid_swa", False):
        result["sliding_tokens"] = runner.swa_max_total_num_tokens
    if hasattr(table, "mamba_pool"):
        result["state_slots"] = table.mamba_pool.size
        result["state_bytes"] = sum(sizes.bytes_of(held) for held in vars(table.mamba_pool.mamba_cache).values())
    return result


def _requests(runner: Any) -> int | None:
    """What TpModelWorker lets run: up to 0.5.8 it takes the minimum itself; in all versions it stops where that is none."""
    found = getattr(runner, "max_running_requests", None)
    if found is None:
        asked = runner.server_args.max_running_requests
        groups = runner.server_args.dp_size if runner.server_args.enable_dp_attention else 1
        found = min(
            runner.max_total_num_tokens // 2 if asked is None else asked // groups, runner.req_to_token_pool.size
        )
    if found <= 0:
        raise AssertionError("max_running_request is zero")
    return int(found)


def _kv_bytes(pool: Any) -> int:
    """Every tensor that a pool keeps tokens in: keys, values, latents, scales and the indexer's keys."""
    total = 0
    for name, held in vars(pool).items():
        if hasattr(held, "get_kv_size_bytes"):
            total += _kv_bytes(held)
        elif "buffer" in name:
            total += sizes.bytes_of(held)
        elif name == "index_key_cache":
            total += sizes.bytes_of(held.buffer)
    return total
