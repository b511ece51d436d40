# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a request to a plan, or to refusals. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import PlanningError
from ansible_collections.blackwell.inference.plugins.module_utils.core.ledger import Line
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import gib_text
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device_pool import (
    cell_of,
    chosen_budget,
    cpu_pool,
    highest_fraction,
    wanted_headroom_bytes,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.gpu_budget import GpuBudget
from ansible_collections.blackwell.inference.plugins.module_utils.planning.graphs import bracket_of
from ansible_collections.blackwell.inference.plugins.module_utils.planning.host_cache import HostCache
from ansible_collections.blackwell.inference.plugins.module_utils.planning.host_plan import plan_host_cache
from ansible_collections.blackwell.inference.plugins.module_utils.planning.notes import plan_notes
from ansible_collections.blackwell.inference.plugins.module_utils.planning.plan import MemoryPlan
from ansible_collections.blackwell.inference.plugins.module_utils.planning.pools import DevicePools, Pool
from ansible_collections.blackwell.inference.plugins.module_utils.planning.preflight import preflight
from ansible_collections.blackwell.inference.plugins.module_utils.planning.refusal import Refusal
from ansible_collections.blackwell.inference.plugins.module_utils.planning.report import report_lines
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request import PlanRequest
from ansible_collections.blackwell.inference.plugins.module_utils.planning.start_estimate import start_estimate

_ALWAYS_FATAL = ("attention", "tensor_parallel", "visible_devices", "gpu_count", "weights", "max_total_tokens")


def plan_memory(request: PlanRequest) -> MemoryPlan:
    """The plan; raises PlanningError with every refusal that is not forced."""
    early = preflight(request)
    if any(refusal.name in _ALWAYS_FATAL for refusal in early):
        raise refused(early)
    plan = _planned(request, early)
    forced = tuple(
        sorted(
            {refusal.name for refusal in plan.refusals if refusal.overridable and refusal.name in request.serving.force}
        )
    )
    plan = replace(plan, forced=forced)
    standing = [refusal for refusal in plan.refusals if not (refusal.overridable and refusal.name in forced)]
    if standing:
        raise refused(standing, report=report_lines(plan))
    return plan


def refused(refusals: Iterable[Refusal], **details: Any) -> PlanningError:
    """One error of all refusals; the way to override stands behind each that can be."""
    told = list(refusals)
    sentences = [
        f"{refusal.message} Or force it with force: [{refusal.name}]." if refusal.overridable else refusal.message
        for refusal in told
    ]
    return PlanningError(" ".join(sentences), refusals=[refusal.as_dict() for refusal in told], **details)


def _planned(request: PlanRequest, early: tuple[Refusal, ...]) -> MemoryPlan:
    serving, refusals = request.serving, list(early)
    cell = cell_of(request)
    gpu: GpuBudget | None = None
    in_host: tuple[Line, ...] = ()
    if serving.device == "cpu":
        tokens, requests, in_host = cpu_pool(request)
    else:
        gpu = chosen_budget(request, serving.cached)
        tokens, requests = gpu.tokens, gpu.requests
        refusals += _gpu_refusals(request, gpu)
    kv_cache = Pool("KV cache", "full", tokens, cell, request.page_size)
    stage = DevicePools(tokens, gpu.profiled_tokens if gpu else tokens, requests, (kv_cache,))
    planned = plan_host_cache(request, (stage,), in_host=in_host)
    refusals += planned.refusals
    weights = request.model.weights
    pinned = planned.cache.bytes_total if planned.cache else 0
    return MemoryPlan(
        request=request,
        gpu=gpu,
        tokens=tokens,
        requests=requests,
        cell_bytes=cell,
        host=planned.host,
        pool=planned.cache,
        size_gb_that_fits=planned.size_gb_that_fits,
        start=start_estimate(weights.total_bytes, pinned, weights.files, serving.disk_bytes_per_second, serving.device),
        settings=_settings(request, gpu, planned.cache),
        refusals=tuple(refusals),
        notes=request.notes + planned.notes + plan_notes(request, gpu, tokens, planned.cache),
    )


def _gpu_refusals(request: PlanRequest, gpu: GpuBudget) -> list[Refusal]:
    if gpu.tokens == 0:
        least = gpu.weights_bytes / gpu.base_bytes if gpu.base_bytes else 1.0
        return [
            Refusal(
                "gpu_memory",
                f"The weights take {gib_text(gpu.weights_bytes)} of each card's {gib_text(gpu.base_bytes)}, "
                f"which leaves no KV cache at mem_fraction_static {gpu.fraction:g}; "
                + (
                    f"expected a fraction above {least:.4f}: raise mem_fraction_static."
                    if least < 1
                    else "expected weights that fit: raise tp, or choose a smaller checkpoint."
                ),
            )
        ]
    wanted = wanted_headroom_bytes(request)
    if gpu.headroom_bytes >= wanted:
        return []
    highest = highest_fraction(request, request.serving.cached)
    advice = (
        f"At most {highest:g} leaves that: lower mem_fraction_static."
        if highest
        else "No fraction leaves that: lower context_length, max_running_requests or cuda_graph_max_bs."
    )
    return [
        Refusal(
            "headroom",
            f"mem_fraction_static {gpu.fraction:g} leaves {gib_text(gpu.headroom_bytes)} free on each card "
            f"after graph capture; the first large prefill needs room, "
            f"and {gib_text(wanted)} are asked for (headroom_gib). {advice}",
        )
    ]


def _settings(request: PlanRequest, gpu: GpuBudget | None, pool: HostCache | None) -> dict[str, Any]:
    """What the engine is told, by serving key. Figures that the plan counts on are told even where the engine's default is the same."""
    serving = request.serving
    told: dict[str, Any] = {
        "device": serving.device,
        "tp": serving.tp,
        "mem_fraction_static": gpu.fraction if gpu else serving.mem_fraction_static,
        "context_length": request.context_length,
        "max_running_requests": serving.max_running_requests,
        "max_total_tokens": serving.max_total_tokens,
        "chunked_prefill_size": serving.chunked_prefill_size,
        "max_prefill_tokens": serving.max_prefill_tokens,
        "cuda_graph_max_bs": serving.cuda_graph_max_bs if gpu else None,
        "page_size": serving.page_size,
        "kv_cache_dtype": serving.kv_cache_dtype,
    }
    if gpu is not None and serving.chunked_prefill_size is None:
        told["chunked_prefill_size"] = bracket_of(request.rules, request.gpus[0].total_bytes).chunked_prefill_size
    if pool is not None:
        told.update(
            hicache=True,
            hicache_size=pool.size_gb,
            hicache_ratio=pool.ratio,
            hicache_write_policy=serving.hicache_write_policy,
            hicache_io_backend=serving.hicache_io_backend,
            hicache_mem_layout=serving.hicache_mem_layout,
        )
    return {key: value for key, value in told.items() if value is not None}
