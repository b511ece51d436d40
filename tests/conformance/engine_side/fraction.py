# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fraction that the engine chooses: its `_handle_gpu_memory_settings` (0.5.5, 0.5.9) or `handle_gpu_memory_settings` (0.5.23)."""

from __future__ import annotations

from typing import Any
from unittest import mock

import checkpoints
import msgspec
import refusals
from sglang.srt.server_args import ServerArgs

try:  # 0.5.23
    from sglang.srt.arg_groups import memory_hook
    from sglang.srt.arg_groups.overrides import declare_resolution, resolving_view
    from sglang.srt.model_executor.cuda_graph_config import Backend, CudaGraphConfig, PhaseConfig
except ImportError:
    memory_hook = None


def answer(case: dict[str, Any]) -> dict[str, Any]:
    return refusals.answered(_answer_now if memory_hook else _answer_then, case)


def _answer_then(case: dict[str, Any]) -> dict[str, Any]:
    import runner  # which only the versions before 0.5.23 can import

    arguments = runner.server_arguments(case | {"page_size": 1, "kv_cache_dtype": "auto", "fraction": None})
    arguments.chunked_prefill_size = case["chunk"]
    arguments.max_prefill_tokens = case["max_prefill_tokens"]
    arguments.cuda_graph_max_bs = case["graph_batch"]
    arguments.enable_piecewise_cuda_graph = case["prefill_graph"]
    # Both are asked for the model: the engine would build the same from the path.
    config = checkpoints.model_config(case["config"])
    with (
        mock.patch.object(ServerArgs, "get_model_config", return_value=config, create=True),
        mock.patch.object(ServerArgs, "get_hf_config", return_value=config.hf_config, create=True),
        mock.patch.object(ServerArgs, "use_mla_backend", return_value=hasattr(config, "kv_lora_rank"), create=True),
    ):
        arguments._handle_gpu_memory_settings(case["card_mib"])
    return {
        "fraction": arguments.mem_fraction_static,
        "chunk": arguments.chunked_prefill_size,
        "graph_batch": arguments.cuda_graph_max_bs,
    }


def _answer_now(case: dict[str, Any]) -> dict[str, Any]:
    prefill = Backend.BREAKABLE if case["prefill_graph"] else Backend.DISABLED
    graphs = CudaGraphConfig(
        decode=PhaseConfig(backend=Backend.FULL, max_bs=case["graph_batch"]), prefill=PhaseConfig(backend=prefill)
    )
    fields = {
        "model_path": checkpoints.folder(case["config"]),
        "device": "cuda",
        "tp_size": case["tp"],
        "pp_size": case["pp"],
        "attn_dp_size": case["dp"],
        "mem_fraction_static": None,
        "chunked_prefill_size": case["chunk"],
        "max_prefill_tokens": case["max_prefill_tokens"],
        "max_running_requests": case["max_running_requests"],
        "speculative_algorithm": (case["speculation"] or {}).get("algorithm"),
    }
    # Not resolved as a whole, which wants a GPU: what the earlier steps decide, this one is told.
    arguments = ServerArgs(**fields)
    declare_resolution(arguments, "conformance", cuda_graph_config=graphs)
    msgspec.Struct.__setattr__(arguments, "_cuda_graph_config_locked", set())
    with mock.patch.object(memory_hook, "get_device_memory_capacity", return_value=case["card_mib"]):
        memory_hook.handle_gpu_memory_settings(arguments)
    found = resolving_view(arguments)
    return {
        "fraction": found.mem_fraction_static,
        "chunk": found.chunked_prefill_size,
        "graph_batch": found.cuda_graph_config.decode.max_bs,
    }
