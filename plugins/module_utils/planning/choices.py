# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What planning chooses for whoever fixed nothing, and what each value costs. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..core.units import gb_text, gib_text
from .device.auto_fraction import engine_fraction
from .device.gpu_budget import GpuBudget, GpuCase, gpu_budget
from .host.pools import HostCache
from .request.request import PlanRequest
from .start_estimate import pin_seconds

# Serving keys that a target sets where nobody did. Throughput is what the engine's own defaults are made for.
_VALUES_FOR: dict[str, Mapping[str, Any]] = {
    "throughput": {},
    "long_context": {"max_running_requests": 32, "cuda_graph_max_bs": 32},
    "latency": {"max_running_requests": 16, "cuda_graph_max_bs": 16},
}
_OF_REQUESTS = ("state", "draft_state")
_POLICIES = {
    "write_through": "every new prefix is copied to the host at once, which takes PCIe bandwidth",
    "write_through_selective": "a prefix is copied to the host when it is used again: one used twice is computed twice",
    "write_back": "a prefix is copied to the host only when the device evicts it, which makes requests wait for the copy",
}
_BACKENDS = {
    "kernel": "copies are made by a GPU kernel: fast for small pages, and it takes some of the GPU",
    "direct": "copies are made by the copy engine: slow for small pages, and it leaves the GPU alone",
}
_LAYOUTS = {
    "layer_first": "a page lies in pieces, one a layer, which is slow to store elsewhere",
    "page_first": "a page lies in one piece; copies by kernel need staging on the GPU since 0.5.14",
    "page_first_direct": "a page lies in one piece a layer group, and copies are direct",
}


@dataclass(frozen=True)
class Choice:
    """One value. `by` is who chose it: operator (or the profile), plan or engine; `costs` says what it takes and what would change it."""

    name: str
    value: Any
    by: str
    why: str
    costs: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def with_target_defaults(request: PlanRequest) -> PlanRequest:
    """The request with the values of its target where nobody fixed them; every attention group has to have a request to run."""
    serving = request.serving
    values = {
        key: max(value, serving.dp)
        for key, value in _VALUES_FOR[serving.target].items()
        if getattr(serving, key) is None
    }
    return replace(request, serving=replace(serving, **values)) if values else request


def gpu_choices(asked: PlanRequest, case: GpuCase | None, gpu: GpuBudget | None) -> tuple[Choice, ...]:
    """None of them on a CPU, nor where there is no pool. The case is of the request with the values of its target."""
    if case is None or gpu is None or gpu.tokens == 0:
        return ()
    aimed_at = case.request
    hundredth, chunk = gpu.base_bytes // 100, aimed_at.serving.chunked_prefill_size or gpu.chunk_tokens
    tokens = hundredth // max(1, sum(pool.slot_bytes for pool in gpu.pools.pools if pool.kind not in _OF_REQUESTS))
    return (
        Choice(
            "mem_fraction_static",
            gpu.fraction,
            "operator" if asked.serving.mem_fraction_static is not None else "plan",
            f"leaves {gib_text(gpu.headroom_bytes)} free after graph capture{_unasked(case, gpu)}",
            f"0.01 more holds about {tokens:,} tokens more and leaves {gib_text(hundredth)} less",
        ),
        Choice(
            "max_running_requests",
            gpu.requests.limit,
            *_origin(asked, aimed_at, "max_running_requests", gpu.requests.limit),
            f"a table of {gib_text(gpu.requests.table_bytes)}; what comes beyond waits",
        ),
        Choice(
            "cuda_graph_max_bs",
            gpu.graph_batch,
            *_origin(asked, aimed_at, "cuda_graph_max_bs", gpu.graph_batch),
            f"{gib_text(gpu.graph_bytes)} of graphs; larger batches decode without one",
        ),
        Choice(
            "chunked_prefill_size",
            chunk,
            *_origin(asked, aimed_at, "chunked_prefill_size", chunk),
            f"about {gib_text(gpu.activations.size_bytes)} of the headroom while {gpu.chunk_tokens:,} tokens are computed at once",
        ),
    )


def _unasked(case: GpuCase, gpu: GpuBudget) -> str:
    """What the engine would take without being told, and what that would hold."""
    own = engine_fraction(case.request, gpu.graph_batch)
    if own is None or not 0 < own < 1:
        return ""
    tokens = gpu_budget(case, own).tokens
    holds = f"holds {tokens:,} tokens" if tokens else "does not start"
    return f"; left to itself SGLang would take {own:.3f}, which {holds}"


def cache_choices(asked: PlanRequest, pool: HostCache | None) -> tuple[Choice, ...]:
    if pool is None:
        return ()
    serving = asked.serving
    name, value = ("hicache_size", pool.size_gb) if pool.size_gb else ("hicache_ratio", pool.ratio)
    pinned = pool.bytes_total
    rows = [
        Choice(
            name,
            value,
            "operator" if serving.hicache_size is not None or serving.hicache_ratio is not None else "plan",
            f"{pool.tokens:,} tokens on each rank",
            f"{gb_text(pool.bytes_per_rank)} pinned on each rank, {gb_text(pinned)} in all, about {pin_seconds(pinned)} s of every start",
        )
    ]
    told = (
        ("hicache_write_policy", serving.hicache_write_policy, "write_through", _POLICIES),
        ("hicache_io_backend", serving.hicache_io_backend, "kernel", _BACKENDS),
        ("hicache_mem_layout", serving.hicache_mem_layout, asked.rules.hicache_layout_default, _LAYOUTS),
    )
    for key, given, default, costs in told:
        rows.append(
            Choice(
                key,
                given or default,
                "operator" if given else "engine",
                "as asked" if given else f"the default of SGLang {asked.rules.engine_version}",
                costs[given or default],
            )
        )
    return tuple(rows)


def _origin(asked: PlanRequest, aimed_at: PlanRequest, key: str, value: int) -> tuple[str, str]:
    """Who chose a value, and why. What the engine makes of another value is the engine's."""
    version, dp = asked.rules.engine_version, asked.serving.dp
    for request, by, why in (
        (asked, "operator", "as asked"),
        (aimed_at, "plan", f"for the target {asked.serving.target}"),
    ):
        wish = getattr(request.serving, key)
        if wish == value:
            return by, why
        if wish is not None:
            groups = f" in each of {dp} groups" if dp > 1 else ""
            return "engine", f"{why}: {wish:,}, which SGLang {version} makes {value:,}{groups}"
    return "engine", f"the default of SGLang {version} for this card"
