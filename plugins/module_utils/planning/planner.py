# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a request to a plan, or to refusals. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..core.errors import PlanningError
from ..core.ledger import Line
from .choice import aimed, cache_choices, gpu_choices
from .combinations import combination_refusals
from .device.device_pool import chosen_budget, cpu_pools
from .device.gpu_budget import GpuBudget, poorest
from .device.gpu_refusals import gpu_refusals
from .device.pool_request import speculation
from .device.pools import DevicePools
from .host.host_plan import plan_host_cache
from .notes import plan_notes
from .plan import MemoryPlan
from .preflight import preflight
from .refusal import Refusal
from .report.report import report_lines
from .request import PlanRequest
from .settings import settings_of
from .start_estimate import start_estimate
from .suitability import suitability_notes, suitability_refusals

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


def _planned(asked: PlanRequest, early: tuple[Refusal, ...]) -> MemoryPlan:
    request, refusals = aimed(asked), list(early)
    serving = request.serving
    gpu: GpuBudget | None = None
    in_host: tuple[Line, ...] = ()
    stages: tuple[DevicePools, ...]
    if serving.device == "cpu":
        pools, in_host = cpu_pools(request)
        stages = (pools,)
    else:
        gpu = chosen_budget(request, serving.cached)
        refusals += gpu_refusals(request, gpu)
        stages = gpu.stages
    pools = poorest(stages)
    # Where there is no device pool there is none to mirror, and the refusal says so.
    cached = (
        request
        if pools.tokens
        else replace(request, serving=replace(serving, hicache=False, hicache_size=None, hicache_ratio=None))
    )
    planned = plan_host_cache(cached, stages, speculation(request), in_host)
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
        choices=(*gpu_choices(asked, request, gpu), *cache_choices(asked, planned.cache)),
        refusals=tuple(refusals),
        notes=request.notes
        + suitability_notes(request)
        + planned.notes
        + plan_notes(request, gpu, pools.tokens, planned.cache),
    )
