# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Device pools of 0.5.17 to 0.5.23: the engine's `KVCacheConfigurator.configure`, without a model and without a GPU.

What is replaced: the free memory of the card and the process groups. What is the engine's own: the layers of a stage, the counted
draft, the size of a token, the profile, the split between pools, the table of requests, and every pool, built of tensors without memory.
"""

from __future__ import annotations

import dataclasses
import inspect
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any
from unittest import mock

import card
import checkpoints
import refusals
import sizes
import torch
from sglang.srt.configs.model_config import AttentionArch
from sglang.srt.distributed import parallel_state
from sglang.srt.distributed.utils import get_pp_indices
from sglang.srt.mem_cache import kv_cache_configurator, kv_cache_dtype
from sglang.srt.model_executor.cuda_graph_config import CudaGraphConfig
from sglang.srt.model_executor.model_runner_components import layer_setup, spec_aux_hidden_state
from sglang.srt.runtime_context import get_context, get_model, get_parallel, get_schedule, get_spec
from sglang.srt.server_args import ServerArgs
from sglang.srt.speculative.spec_info import SpeculativeAlgorithm
from sglang.srt.utils import common

_FIELDS = set(
    getattr(ServerArgs, "__struct_fields__", None) or [field.name for field in dataclasses.fields(ServerArgs)]
)
_TAKES = {field.name for field in dataclasses.fields(kv_cache_configurator.KVCacheConfigurator)}


def answer(case: dict[str, Any]) -> dict[str, Any]:
    return refusals.answered(_answer, case)


def _answer(case: dict[str, Any]) -> dict[str, Any]:
    agreement = card.Agreement(None)
    if case["pp"] > 1:
        # A pipeline stage takes the smallest count of all stages: ask them all, then one again with that.
        for rank in range(case["pp"]):
            _configured(case, rank, agreement)
    return _configured(case, case["pp_rank"], card.Agreement(min(agreement.seen, default=None)))


def server_arguments(case: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a case, by their names in this version."""
    speculation = case.get("speculation") or {}
    attention_dp = (
        {"attn_dp_size": case["dp"]}
        if "attn_dp_size" in _FIELDS
        else {"dp_size": case["dp"], "enable_dp_attention": case["dp"] > 1}
    )
    fields = {
        "model_path": checkpoints.folder(case["config"]),
        "device": "cuda",
        "tp_size": case["tp"],
        "pp_size": case["pp"],
        **attention_dp,
        "page_size": case["page_size"],
        "kv_cache_dtype": case["kv_cache_dtype"],
        "mem_fraction_static": case["fraction"],
        "max_total_tokens": case.get("max_total_tokens"),
        "max_running_requests": case.get("max_running_requests"),
        "chunked_prefill_size": case.get("chunked_prefill_size", 8192),
        "disable_radix_cache": not case.get("radix_cache", True),
        "disable_overlap_schedule": not case.get("overlap_schedule", True),
        "speculative_algorithm": speculation.get("algorithm"),
        "speculative_num_steps": speculation.get("steps"),
        "speculative_eagle_topk": speculation.get("topk"),
        "speculative_num_draft_tokens": speculation.get("draft_tokens"),
        "speculative_draft_model_path": checkpoints.folder(case["draft_config"]) if case.get("draft_config") else None,
        "max_mamba_cache_size": case.get("max_state_slots"),
        "mamba_radix_cache_strategy": "extra_buffer" if case.get("state_extra_buffer") else "no_buffer",
        # What is neither trtllm nor tilelang keeps fp8 rows with scales.
        "dsa_prefill_backend": "flashmla_sparse",
        "dsa_decode_backend": "flashmla_sparse",
        "attention_backend": "flashinfer",
        "cuda_graph_config": CudaGraphConfig(),
    }
    for key in ("swa_full_tokens_ratio", "mamba_full_memory_ratio"):
        if case.get(key) is not None:
            fields[key] = case[key]
    return {name: value for name, value in fields.items() if name in _FIELDS}


def _configured(case: dict[str, Any], rank: int, agreement: card.Agreement) -> dict[str, Any]:
    world = SimpleNamespace(world_size=case["tp"] * case["pp"], cpu_group=None, rank_in_group=0, rank=0)
    group = SimpleNamespace(world_size=case["pp"], cpu_group=None, rank_in_group=rank, rank=0)

    with ExitStack() as stack:
        enter = stack.enter_context
        arguments = enter(get_context().override_server_args(**server_arguments(case)))
        groups = {"world_group": world, "pp_group": group}
        known = {name: value for name, value in groups.items() if hasattr(type(get_parallel()), name)}
        enter(get_parallel().override(**known))
        if hasattr(kv_cache_configurator, "get_world_group"):
            enter(mock.patch.object(kv_cache_configurator, "get_world_group", return_value=world))
        if hasattr(parallel_state, "get_attn_tensor_model_parallel_world_size"):
            attention_tp = case["tp"] // case["dp"]
            enter(
                mock.patch.object(
                    parallel_state, "get_attn_tensor_model_parallel_world_size", return_value=attention_tp
                )
            )
        enter(mock.patch.object(torch.distributed, "all_reduce", agreement))
        enter(card.with_free(case["free_after_bytes"]))
        enter(mock.patch.object(common, "is_cuda", return_value=True))
        enter(mock.patch.object(torch, "get_device_module", return_value=mock.MagicMock()))
        enter(mock.patch("sglang.srt.mem_cache.memory_pool.MHATokenToKVPool._init_kv_copy_and_warmup"))
        config = checkpoints.model_config(case["config"], context_length=case.get("context_length"))
        algorithm = SpeculativeAlgorithm.from_string(get_spec().speculative_algorithm)
        extra = spec_aux_hidden_state.resolve_spec_aux_hidden_state_config(
            server_args=arguments, model_config=config, spec_algorithm=algorithm, is_draft_worker=False
        )
        stage = get_pp_indices(config.num_hidden_layers, rank, case["pp"])
        model = SimpleNamespace(start_layer=stage[0], end_layer=stage[1], quant_config=None)
        target = _run(case, arguments, config, model, group, algorithm, extra, None)
        result = _pools(target[0], target[1])
        if case.get("draft_config") and not algorithm.is_none():
            draft_config = checkpoints.model_config(
                case["draft_config"], context_length=config.context_len, is_draft_model=True
            )
            _made, draft = _run(
                case, arguments, draft_config, SimpleNamespace(quant_config=None), group, algorithm, extra, target[1]
            )
            result["draft_tokens"], result["draft_bytes"] = (
                draft.max_total_num_tokens,
                kv_bytes(draft.token_to_kv_pool),
            )
        return result


def _run(
    case: dict[str, Any],
    arguments: Any,
    config: Any,
    model: Any,
    group: Any,
    algorithm: Any,
    extra: Any,
    target: Any,
) -> tuple[Any, Any]:
    layers = layer_setup.resolve_layer_indices(
        **_known(
            layer_setup.resolve_layer_indices,
            model=model,
            model_config=config,
            is_draft_worker=target is not None,
            spec_algorithm=algorithm,
        )
    )
    if hasattr(layer_setup, "adjust_hybrid_swa_layer_ids"):  # up to 0.5.20
        layer_setup.adjust_hybrid_swa_layer_ids(
            model_config=config,
            start_layer=layers.start_layer,
            end_layer=layers.end_layer,
            is_hybrid_swa=config.is_hybrid_swa,
        )
    text, dtype = kv_cache_dtype_of(config, target is not None)
    settings = {
        "device": "cuda",
        "gpu_id": 0,
        "attn_dp_size": case["dp"],
        "ps": SimpleNamespace(
            tp_size=case["tp"],
            pp_size=case["pp"],
            dp_size=case["dp"],
            attn_dp_size=case["dp"],
            attn_tp_size=case["tp"] // case["dp"],
        ),
        "pp_size": case["pp"],
        "pp_group": group,
        "model": model,
        "model_config": config,
        "server_args": arguments,
        "kv_cache_dtype": dtype,
        "kv_cache_dtype_str": text,
        "model_dtype": config.dtype,
        "page_size": get_schedule().page_size,
        "sliding_window_size": _window(config),
        "spec_algorithm": algorithm,
        "is_draft_worker": target is not None,
        "post_capture_kv_active": False,
        "spec_aux_config": extra,
        "is_hybrid_swa": config.is_hybrid_swa,
        "is_hybrid_swa_compress": config.is_hybrid_swa_compress,
        "use_mla_backend": config.attention_arch == AttentionArch.MLA,
        "layer_info": layers,
        "forward_stream": None,
        "req_to_token_pool": target.req_to_token_pool if target else None,
        "token_to_kv_pool_allocator": target.token_to_kv_pool_allocator if target else None,
        "memory_pool_config": target.memory_pool_config if target else None,
    }
    made = kv_cache_configurator.KVCacheConfigurator(**{k: v for k, v in settings.items() if k in _TAKES})
    before = card.seen_gib(case["free_before_bytes"], case["tp"] * case["pp"])
    with sizes.Sizes():
        return made, made.configure(pre_model_load_memory=before)


def kv_cache_dtype_of(config: Any, draft: bool) -> tuple[str, torch.dtype]:
    text, dtype = kv_cache_dtype.configure_kv_cache_dtype(
        **_known(
            kv_cache_dtype.configure_kv_cache_dtype,
            server_args_kv_cache_dtype=get_model().kv_cache_dtype,
            model=SimpleNamespace(quant_config=None),
            model_dtype=config.dtype,
            is_draft_worker=draft,
            is_dflash=False,
            speculative_draft_attention_backend=None,
            speculative_draft_kv_cache_dtype=None,
        )
    )
    return text, dtype


def _known(function: Any, **settings: Any) -> dict[str, Any]:
    """Those of the settings that the function has in this version."""
    return {name: value for name, value in settings.items() if name in inspect.signature(function).parameters}


def _window(config: Any) -> int | None:
    """What the runner takes: the model's own word where it has one, else the configuration's."""
    window = getattr(config.hf_text_config, "sliding_window", None)
    if not config.is_hybrid_swa or window is None:
        return None
    # GptOssForCausalLM.get_attention_sliding_window_size: the tokens before the current one.
    return int(window) - 1


def _pools(made: Any, done: Any) -> dict[str, Any]:
    if done.max_running_requests <= 0:  # TpModelWorker asserts it
        raise AssertionError("max_running_request is zero")
    table = done.req_to_token_pool
    result = {
        "tokens": done.max_total_num_tokens,
        "requests": done.max_running_requests,
        "rows": table.req_to_token.shape[0],
        "table_bytes": sizes.bytes_of(table.req_to_token),
        "kv_bytes": kv_bytes(done.token_to_kv_pool),
    }
    if made.is_hybrid_swa:
        result["sliding_tokens"] = done.swa_max_total_num_tokens
    if hasattr(table, "mamba_pool"):
        result["state_slots"] = table.mamba_pool.size
        result["state_bytes"] = sum(sizes.bytes_of(held) for held in vars(table.mamba_pool.mamba_cache).values())
    return result


def kv_bytes(pool: Any) -> int:
    """Every tensor that a pool keeps tokens in: keys, values, latents, scales and the indexer's keys."""
    total = 0
    for name, held in vars(pool).items():
        if hasattr(held, "get_kv_size_bytes"):
            total += kv_bytes(held)
        elif "buffer" in name:
            total += sizes.bytes_of(held)
        elif name == "index_key_cache":
            total += sizes.bytes_of(held.buffer)
    return total
