# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a request to a plan, or to refusals. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..core.errors import PlanningError, Refusal
from ..core.ledger import Line
from .choices import cache_choices, gpu_choices, with_target_defaults
from .combinations import combination_refusals
from .device.gpu_budget import GpuBudget, GpuCase, chosen_budget, cpu_pools, gpu_case, limiting
from .device.pools import DevicePools
from .device.refusals import gpu_refusals
from .host.cache_plan import plan_host_cache
from .host.pools import HostCache
from .notes import plan_notes
from .plan import MemoryPlan
from .preflight import preflight
from .profile_rules import suitability_notes, suitability_refusals
from .report.text import report_lines
from .request.parallelism import WITHOUT_STEPS
from .request.request import PlanRequest
from .start_estimate import start_estimate

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
    """Figures that the plan counts on are settings even where the engine's default is the same."""
    serving = request.serving
    settings: dict[str, Any] = {key: getattr(serving, key) for key in _AS_ASKED}
    if request.indexed:
        settings["kv_cache_dtype"] = request.kv_cache_dtype
    settings["context_length"] = request.context_length
    settings["mem_fraction_static"] = gpu.fraction if gpu else serving.mem_fraction_static
    settings["chunked_prefill_size"] = serving.chunked_prefill_size or (gpu.chunk_tokens if gpu else None)
    settings["cuda_graph_max_bs"] = serving.cuda_graph_max_bs if gpu else None
    settings["pp"] = serving.pp if serving.pp > 1 else None
    settings["dp"] = serving.dp if serving.dp > 1 else None
    settings.update(_speculation(request))
    if cache is not None:
        settings.update(
            hicache=True,
            hicache_size=cache.size_gb,
            hicache_ratio=cache.ratio,
            hicache_write_policy=serving.hicache_write_policy,
            hicache_io_backend=serving.hicache_io_backend,
            hicache_mem_layout=serving.hicache_mem_layout,
        )
    return {key: value for key, value in settings.items() if value is not None}


def _speculation(request: PlanRequest) -> dict[str, Any]:
    drafting = request.speculation
    if drafting is None:
        return {}
    settings: dict[str, Any] = {
        "speculative_algorithm": drafting.algorithm,
        "speculative_num_draft_tokens": drafting.draft_tokens,
        "draft_model_path": request.draft_model_path,
    }
    if drafting.algorithm not in WITHOUT_STEPS:
        settings.update(speculative_num_steps=drafting.steps, speculative_eagle_topk=drafting.topk)
    return settings


_ALWAYS_FATAL = (
    "attention",
    "data_parallel",
    "tensor_parallel",
    "pipeline",
    "speculation",
    "visible_devices",
    "gpu_count",
    "weights",
    "max_total_tokens",
)


def plan_memory(request: PlanRequest) -> MemoryPlan:
    """The plan; raises PlanningError with every refusal that is not forced."""
    early = (*preflight(request), *combination_refusals(request), *suitability_refusals(request))
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
        raise refused(standing, plan.as_dict())
    return plan


def refused(refusals: Iterable[Refusal], plan: Mapping[str, Any] | None = None) -> PlanningError:
    """One error of all refusals; the way to override stands behind each that can be. `plan` is what was refused, None where figures would mean nothing."""
    listed = list(refusals)
    sentences = [
        f"{refusal.message} Or force it with force: [{refusal.name}]." if refusal.overridable else refusal.message
        for refusal in listed
    ]
    report = {} if plan is None else {"report": report_lines(plan), "refused_plan": plan}
    return PlanningError(" ".join(sentences), refusals=[refusal.as_dict() for refusal in listed], **report)


def _planned(asked: PlanRequest, early: tuple[Refusal, ...]) -> MemoryPlan:
    request, refusals = with_target_defaults(asked), list(early)
    serving = request.serving
    gpu: GpuBudget | None = None
    case: GpuCase | None = None
    in_host: tuple[Line, ...] = ()
    stages: tuple[DevicePools, ...]
    if serving.device == "cpu":
        pools, in_host = cpu_pools(request)
        stages = (pools,)
    else:
        case = gpu_case(request, serving.cached)
        gpu = chosen_budget(case)
        refusals += gpu_refusals(case, gpu)
        stages = gpu.stages
    pools = limiting(stages)
    # Where there is no device pool there is none to mirror, and the refusal says so.
    cached = (
        request
        if pools.tokens
        else replace(request, serving=replace(serving, hicache=False, hicache_size=None, hicache_ratio=None))
    )
    planned = plan_host_cache(cached, stages, in_host)
    refusals += planned.refusals
    weights = request.model.weights
    pinned = planned.cache.bytes_total if planned.cache else 0
    return MemoryPlan(
        request=request,
        gpu=gpu,
        pools=pools,
        host=planned.host,
        pool=planned.cache,
        size_gb_that_fits=planned.size_gb_that_fits,
        start=start_estimate(weights.total_bytes, pinned, weights.files, serving.disk_bytes_per_second, serving.device),
        settings=settings_of(request, gpu, planned.cache),
        choices=(*gpu_choices(asked, case, gpu), *cache_choices(asked, planned.cache)),
        refusals=tuple(refusals),
        notes=request.notes
        + suitability_notes(request)
        + planned.notes
        + plan_notes(request, gpu, pools.tokens, planned.cache),
    )
