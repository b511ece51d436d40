# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPU memory of one rank, the limiting one, and the device pools that it leaves room for. Private to the collection, may change any time.

On a CPU the pools lie in host memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...core.ledger import Ledger, Line
from ...core.units import gib_to_bytes
from ...model.attention import MlaGeometry
from ..request.request import PlanRequest
from .draft_pool import rotary_tables_bytes
from .gpu_memory import draft_weights_line, gpu_base, rank_weights, weights_line
from .graphs import activation_line, bracket_of, chunk_tokens, graph_lines, largest_batch
from .pool_inputs import PoolInputs, pool_inputs
from .pool_sizing import size_pools, size_stages
from .pools import DevicePools, RunningRequests, running_requests


@dataclass(frozen=True)
class GpuCase:
    """What holds at every fraction, derived once: the card before the load, what is loaded, and what the pools are sized from.

    `gone` is what is taken before the load. `cached`: a host cache is planned, which needs staging where the layout asks for it.
    """

    request: PlanRequest
    cached: bool
    capacity: Line
    gone: tuple[Line, ...]
    loaded: tuple[Line, ...]
    inputs: PoolInputs


def gpu_case(request: PlanRequest, cached: bool) -> GpuCase:
    calibration, world, rules = request.calibration, request.parallelism, request.rules
    capacity, gone, base = gpu_base(request.gpus, request.host, calibration, world.world)
    weights = weights_line(request.model, request.host, calibration, world, base, rules)
    draft = draft_weights_line(request.model, request.speculation, calibration, world, rules)
    draft_bytes = draft.size_bytes if draft is not None else 0
    inputs = pool_inputs(request, 1.0, base, weights.size_bytes, draft_bytes)
    return GpuCase(request, cached, capacity, gone, (weights,) if draft is None else (weights, draft), inputs)


@dataclass(frozen=True)
class GpuBudget:
    """What the engine will allocate on a card at this fraction. `stages` are the pools of each pipeline stage, `weights_bytes` those of model and draft.

    `activations` is what a prefill chunk of `chunk_tokens` takes of the headroom.
    """

    ledger: Ledger
    base_bytes: int
    weights_bytes: int
    fraction: float
    stages: tuple[DevicePools, ...]
    graph_batch: int
    graph_bytes: int
    chunk_tokens: int
    activations: Line

    @property
    def pools(self) -> DevicePools:
        """Those of the stage that decides how many tokens there are."""
        return limiting(self.stages)

    @property
    def tokens(self) -> int:
        return self.pools.tokens

    @property
    def requests(self) -> RunningRequests:
        return self.pools.requests

    @property
    def headroom_bytes(self) -> int:
        """Free after graph capture."""
        return self.ledger.left_bytes

    def as_dict(self) -> dict[str, Any]:
        cell = cell_bytes(self.pools)
        return {
            "base_bytes": self.base_bytes,
            "tokens": self.tokens,
            "cell_bytes": cell,
            "kv_bytes": self.tokens * cell,
            "headroom_bytes": self.headroom_bytes,
            "mem_fraction_static": self.fraction,
            "max_running_requests": self.requests.limit,
            "graph_batch": self.graph_batch,
            "chunked_prefill_size": self.chunk_tokens,
            "activations": self.activations.as_dict(),
            "capacity": self.ledger.capacity.as_dict(),
            "lines": [line.as_dict() for line in self.ledger.lines],
        }


def limiting(stages: tuple[DevicePools, ...]) -> DevicePools:
    return next((stage for stage in stages if stage.limiting), stages[0])


def cell_bytes(pools: DevicePools) -> int:
    """Bytes of one of the tokens that the engine counts: in the pool of full attention, or in the first one where no layer sees every token."""
    full = [pool for pool in pools.pools if pool.kind == "full"] or list(pools.pools)
    return full[0].slot_bytes if full else 0


def pool_lines(pools: DevicePools, source: str) -> tuple[Line, ...]:
    """Each pool, what the pools allocate beside their slots, and the table of requests."""
    requests = pools.requests
    lines = [
        Line(
            pool.name,
            pool.slots * pool.slot_bytes,
            f"{source}: {pool.slots:,} {_SLOTS.get(pool.kind, 'tokens')} of {pool.slot_bytes:,} bytes",
        )
        for pool in pools.pools
    ]
    padding = sum(pool.padding_slots * pool.slot_bytes for pool in pools.pools)
    lines.append(Line("padding page", padding, source))
    lines.append(Line("request table", requests.table_bytes, f"{source}: {requests.rows:,} requests"))
    return tuple(lines)


_SLOTS = {"state": "requests", "draft_state": "requests"}

# Hundredths of the fraction that are proposed unasked.
_HIGHEST_PROPOSED, _LOWEST_PROPOSED = 97, 1
# A proposal leaves a twentieth of the card: the design host served with 5.47 GiB of 94.04 free and died with 0.82, and nobody saw anything between.
_PROPOSED_PART = 20
# More than any model's pools: a CPU's are as large as max_total_tokens says.
_UNBOUND_BYTES = 1 << 52


def gpu_budget(case: GpuCase, fraction: float) -> GpuBudget:
    """What a card will hold at this fraction."""
    request, inputs = case.request, replace(case.inputs, fraction=fraction)
    serving, rules = request.serving, request.rules
    stages, tables = size_stages(inputs), rotary_tables_bytes(inputs)
    pools, reserve = limiting(stages), request.multimodal_reserve_bytes
    lines = [*case.gone, *case.loaded, *pool_lines(pools, "plan")]
    if tables:
        lines.append(Line("vision rotary table", tables, f"engine: lengthened in {rules.engine_version}"))
    if reserve:
        lines.append(Line("multimodal cache", reserve, f"engine: since 0.5.18, in {rules.engine_version}"))
    batch = _graph_batch(request, pools)
    graphs = graph_lines(
        batch if request.decode_graphs else 0, _prefill_graph_bytes(request), request.calibration, request.ranks
    )
    lines += graphs
    layout = serving.hicache_mem_layout or rules.hicache_layout_default
    if case.cached and rules.staging_pages and layout == "page_first":
        staging = rules.staging_pages * request.page_size * cell_bytes(pools)
        lines.append(Line("host cache staging", staging, f"engine: {rules.staging_pages} pages since 0.5.14"))
    chunk = chunk_tokens(request)
    return GpuBudget(
        ledger=Ledger(case.capacity, tuple(lines)),
        base_bytes=inputs.free_before_bytes,
        weights_bytes=sum(line.size_bytes for line in case.loaded),
        fraction=fraction,
        stages=stages,
        graph_batch=batch,
        graph_bytes=sum(line.size_bytes for line in graphs),
        chunk_tokens=chunk,
        activations=activation_line(request, chunk),
    )


def _graph_batch(request: PlanRequest, pools: DevicePools) -> int:
    serving, rules = request.serving, request.rules
    bracket = bracket_of(rules, request.gpus[0].total_bytes)
    asked, limit = serving.cuda_graph_max_bs, serving.max_running_requests
    return largest_batch(bracket, serving.tp, asked, limit, pools.requests.rows, rules)


def _prefill_graph_bytes(request: PlanRequest) -> int:
    latent = isinstance(request.model.attention, MlaGeometry)
    return request.rules.prefill_graph_mla_bytes if latent and request.prefill_graph else 0


def needed_headroom_bytes(request: PlanRequest, budget: GpuBudget) -> int:
    """What must stay free: the operator's wish, and at least what a prefill chunk takes."""
    return max(gib_to_bytes(request.serving.headroom_gib or 0), budget.activations.size_bytes)


def proposed_headroom_bytes(request: PlanRequest, budget: GpuBudget) -> int:
    """What a fraction that nobody asked for leaves free."""
    return max(needed_headroom_bytes(request, budget), request.gpus[0].total_bytes // _PROPOSED_PART)


def chosen_budget(case: GpuCase) -> GpuBudget:
    """At the operator's fraction, else at the highest of 0.97, 0.96, ... that leaves enough, else at the last one with a pool."""
    fixed = case.request.serving.mem_fraction_static
    if fixed is not None:
        return gpu_budget(case, fixed)
    best: GpuBudget | None = None
    for hundredths in range(_HIGHEST_PROPOSED, _LOWEST_PROPOSED - 1, -1):
        budget = gpu_budget(case, hundredths / 100)
        if budget.tokens == 0:
            break
        best = budget
        if budget.headroom_bytes >= proposed_headroom_bytes(case.request, budget):
            break
    return best if best is not None else gpu_budget(case, _HIGHEST_PROPOSED / 100)


def highest_fraction(case: GpuCase) -> float | None:
    """The highest fraction, in thousandths, that leaves what must stay free; None where none does."""
    for thousandths in range(999, 0, -1):
        budget = gpu_budget(case, thousandths / 1000)
        if budget.tokens == 0:
            return None
        if budget.headroom_bytes >= needed_headroom_bytes(case.request, budget):
            return thousandths / 1000
    return None


def cpu_pools(request: PlanRequest) -> tuple[DevicePools, tuple[Line, ...]]:
    """(the pools of one rank, what all ranks take in host memory) on a CPU: weights, pools and request table live in RAM."""
    ranks = request.parallelism.world
    pools = size_pools(pool_inputs(request, 1.0, _UNBOUND_BYTES, 0, 0))
    # What would fit on a CPU is a fraction of the memory that is free: at most all of it, which makes the longest table.
    fits = request.host.memory_available_bytes // max(1, cell_bytes(pools))
    requests = running_requests(
        pools.tokens, fits, request.context_length, request.serving.max_running_requests, request.rules
    )
    pools = replace(pools, requests=requests)
    lines = (rank_weights(request.model, request.parallelism, request.rules), *pool_lines(pools, "plan"))
    return pools, tuple(Line(line.name, line.size_bytes * ranks, line.source) for line in lines)
