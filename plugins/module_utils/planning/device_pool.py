# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pool that holds the tokens being worked on: on the cards, or in host memory for a CPU. Private to the collection, may change any time."""

from __future__ import annotations

from ansible_collections.blackwell.inference.plugins.module_utils.core.ledger import Ledger, Line
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import gib_to_bytes
from ansible_collections.blackwell.inference.plugins.module_utils.planning.attention import (
    GqaGeometry,
    MlaGeometry,
    cell_bytes,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.gpu_base import (
    estimated_weights,
    gpu_base,
    weights_line,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.gpu_budget import (
    GpuBudget,
    aligned,
    pool_lines,
    profiled_tokens,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.graphs import (
    bracket_of,
    graph_lines,
    largest_batch,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request import PlanRequest
from ansible_collections.blackwell.inference.plugins.module_utils.planning.requests import (
    RunningRequests,
    running_requests,
)

# The design host is known to serve at 0.88 and known to die at 0.93: nothing above 0.88 is proposed unasked.
_HIGHEST_PROPOSED = 88
_LOWEST_PROPOSED = 1


def cell_of(request: PlanRequest) -> int:
    attention, model = request.model.attention, request.model
    if not isinstance(attention, (MlaGeometry, GqaGeometry)):
        raise TypeError(f"attention of kind {attention.kind} has no cell; preflight refuses it")
    return cell_bytes(attention, model.layers, request.serving.tp, request.kv_cache_dtype)


def gpu_budget(request: PlanRequest, fraction: float, cached: bool) -> GpuBudget:
    """What a card will hold at this fraction. `cached`: a host cache is planned, which needs staging where the layout asks for it."""
    serving, rules, model, calibration = request.serving, request.rules, request.model, request.calibration
    capacity, gone, base = gpu_base(request.gpus, request.host, calibration, serving.tp)
    weights = weights_line(model, request.host, calibration, serving.tp, base)
    cell, page, reserve = cell_of(request), request.page_size, request.multimodal_reserve_bytes
    profiled = profiled_tokens(base, weights.size_bytes, reserve, fraction, cell)
    tokens = aligned(profiled if serving.max_total_tokens is None else min(profiled, serving.max_total_tokens), page)
    requests = running_requests(tokens, profiled, request.context_length, serving.max_running_requests, rules)
    bracket = bracket_of(rules, request.gpus[0].total_bytes)
    batch = largest_batch(
        bracket, serving.tp, serving.cuda_graph_max_bs, serving.max_running_requests, requests.rows, rules
    )
    lines = [*gone, weights, *pool_lines(tokens, page, cell, requests, "plan")]
    if reserve:
        lines.append(Line("multimodal cache", reserve, f"engine: since 0.5.18, in {rules.engine_version}"))
    prefill_bytes = (
        rules.prefill_graph_mla_bytes if isinstance(model.attention, MlaGeometry) and request.prefill_graph else 0
    )
    lines += graph_lines(batch if request.decode_graphs else 0, prefill_bytes, calibration, serving.tp)
    if cached and rules.staging_pages and (serving.hicache_mem_layout or rules.hicache_layout_default) == "page_first":
        lines.append(
            Line(
                "host cache staging",
                rules.staging_pages * page * cell,
                f"engine: {rules.staging_pages} pages since 0.5.14",
            )
        )
    return GpuBudget(
        Ledger(capacity, tuple(lines)), base, weights.size_bytes, fraction, profiled, tokens, cell, requests, batch
    )


def wanted_headroom_bytes(request: PlanRequest) -> int:
    """The operator's headroom, or the measured activations of a prefill chunk where those are more."""
    return max(gib_to_bytes(request.serving.headroom_gib), request.calibration.activation_bytes or 0)


def chosen_budget(request: PlanRequest, cached: bool) -> GpuBudget:
    """At the operator's fraction, else at the highest of 0.88, 0.87, ... that keeps the headroom, else at the last one with a pool."""
    fixed = request.serving.mem_fraction_static
    if fixed is not None:
        return gpu_budget(request, fixed, cached)
    best: GpuBudget | None = None
    for hundredths in range(_HIGHEST_PROPOSED, _LOWEST_PROPOSED - 1, -1):
        budget = gpu_budget(request, hundredths / 100, cached)
        if budget.tokens == 0:
            break
        best = budget
        if budget.headroom_bytes >= wanted_headroom_bytes(request):
            break
    return best if best is not None else gpu_budget(request, _HIGHEST_PROPOSED / 100, cached)


def highest_fraction(request: PlanRequest, cached: bool) -> float | None:
    """The highest fraction, in thousandths, that keeps the headroom; None where none does."""
    for thousandths in range(999, 0, -1):
        budget = gpu_budget(request, thousandths / 1000, cached)
        if budget.tokens == 0:
            return None
        if budget.headroom_bytes >= wanted_headroom_bytes(request):
            return thousandths / 1000
    return None


def cpu_pool(request: PlanRequest) -> tuple[int, RunningRequests, tuple[Line, ...]]:
    """(tokens and requests of one rank, what all ranks take in host memory) on a CPU: weights, pool and request table live in RAM."""
    serving, ranks = request.serving, request.serving.tp
    tokens = aligned(serving.max_total_tokens or 0, request.page_size)
    cell = cell_of(request)
    # What would fit on a CPU is a fraction of the memory that is free: at most all of it, which makes the longest table.
    fits = request.host.memory_available_bytes // cell
    requests = running_requests(tokens, fits, request.context_length, serving.max_running_requests, request.rules)
    lines = (
        estimated_weights(request.model, ranks),
        *pool_lines(tokens, request.page_size, cell, requests, "plan"),
    )
    return tokens, requests, tuple(Line(line.name, line.size_bytes * ranks, line.source) for line in lines)
