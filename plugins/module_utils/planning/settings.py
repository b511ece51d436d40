# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the engine is told, by serving key. Private to the collection, may change any time."""

from __future__ import annotations

from typing import Any

from .device.gpu_budget import GpuBudget
from .device.pool_request import WITHOUT_STEPS, speculation
from .host.host_cache import HostCache
from .request import PlanRequest

_AS_ASKED = (
    "device",
    "tp",
    "max_running_requests",
    "max_total_tokens",
    "max_prefill_tokens",
    "page_size",
    "kv_cache_dtype",
    "swa_full_tokens_ratio",
    "mamba_full_memory_ratio",
    "max_mamba_cache_size",
    "mamba_ssm_dtype",
)


def settings_of(request: PlanRequest, gpu: GpuBudget | None, cache: HostCache | None) -> dict[str, Any]:
    """Figures that the plan counts on are told even where the engine's default is the same."""
    serving = request.serving
    told: dict[str, Any] = {key: getattr(serving, key) for key in _AS_ASKED}
    if request.indexed:
        told["kv_cache_dtype"] = request.kv_cache_dtype
    told["context_length"] = request.context_length
    told["mem_fraction_static"] = gpu.fraction if gpu else serving.mem_fraction_static
    told["chunked_prefill_size"] = serving.chunked_prefill_size or (gpu.chunk_tokens if gpu else None)
    told["cuda_graph_max_bs"] = serving.cuda_graph_max_bs if gpu else None
    told["pp"] = serving.pp if serving.pp > 1 else None
    told["dp"] = serving.dp if serving.dp > 1 else None
    told.update(_speculation(request))
    if cache is not None:
        told.update(
            hicache=True,
            hicache_size=cache.size_gb,
            hicache_ratio=cache.ratio,
            hicache_write_policy=serving.hicache_write_policy,
            hicache_io_backend=serving.hicache_io_backend,
            hicache_mem_layout=serving.hicache_mem_layout,
        )
    return {key: value for key, value in told.items() if value is not None}


def _speculation(request: PlanRequest) -> dict[str, Any]:
    drafting = speculation(request)
    if drafting is None:
        return {}
    told: dict[str, Any] = {
        "speculative_algorithm": drafting.algorithm,
        "speculative_num_draft_tokens": drafting.draft_tokens,
        "draft_model_path": request.draft_model_path,
    }
    if drafting.algorithm not in WITHOUT_STEPS:
        told.update(speculative_num_steps=drafting.steps, speculative_eagle_topk=drafting.topk)
    return told
