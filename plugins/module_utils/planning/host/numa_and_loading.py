# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host memory by NUMA node, and what only loading the weights takes. Private to the collection, may change any time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core.errors import Refusal
from ...core.fields import is_whole
from ...core.units import GB, GIB, gb_text, gib_to_bytes, ranks_text
from ...sglang.sizing_rules import Binding
from ..request.host import HostState
from ..request.request import PlanRequest
from .budget import HostBudget, rank_process_bytes
from .pools import HostCache

_THREADS = 8  # where they are turned on and not counted, since 0.5.5
_COPIES, _EXTRA = "weight-loader-disable-mmap", "model-loader-extra-config"


def loader_peak_bytes(request: PlanRequest, ranks: int) -> int:
    """Memory of all ranks while shards are read, 0 where they are mapped: pages of a mapped file are dropped when memory runs short.

    Without mapping a rank reads each shard whole and makes tensors of it, so that it is there twice for a moment; several threads read one each
    and one more waits (since 0.5.9). All is given back before the host cache is pinned. Shards count with their mean size.
    """
    weights = request.model.weights
    if not request.arguments.get(_COPIES) or not weights.files:
        return 0
    threads = _threads(request)
    shards = 2 * threads + (1 if threads > 1 else 0)
    return ranks * min(shards * (weights.total_bytes // weights.files), 2 * weights.total_bytes)


def _threads(request: PlanRequest) -> int:
    extra = _extra(request.arguments.get(_EXTRA))
    if extra.get("enable_multithread_load") is False:
        return 1
    default = _THREADS if extra.get("enable_multithread_load") else request.rules.loader_threads
    asked = extra.get("num_threads", default)
    return max(1, int(asked)) if default > 1 and is_whole(asked) else default


def _extra(value: Any) -> Mapping[str, Any]:
    """The flag's JSON; what cannot be read is the engine's to refuse."""
    try:
        read = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return {}
    return read if isinstance(read, Mapping) else {}


def loader_refusal(request: PlanRequest, ranks: int, bare: HostBudget) -> Refusal | None:
    """Whether loading alone asks for more than the host has beside the engine's processes."""
    peak = loader_peak_bytes(request, ranks)
    if peak <= max(0, bare.ledger.left_bytes - bare.reserve_bytes):
        return None
    return Refusal(
        "host_memory",
        f"arguments has {_COPIES}, with which {ranks_text(ranks)} hold about {gb_text(peak)} of shards while they load; this host has "
        f"{gb_text(bare.ledger.left_bytes)} beside the engine's processes, and host_reserve_gib {request.serving.host_reserve_gib:g} keeps "
        f"{gb_text(gib_to_bytes(request.serving.host_reserve_gib))}. Remove {_COPIES}, or set {_EXTRA} to "
        "'{\"enable_multithread_load\": false}'.",
    )


def loader_note(request: PlanRequest, ranks: int) -> str | None:
    peak = loader_peak_bytes(request, ranks)
    if peak < GIB:
        return None
    return f"While the weights are loaded, {_COPIES} takes about {gb_text(peak)} more; it is given back before the host cache is pinned."


# Names of the engine's own switches; the first makes a binding a preference, since 0.5.6.
_BINDING, _ARGUMENT = "SGLANG_NUMA_BIND_V2", "numa-node"
_OFF = ("0", "false", "no", "off")


@dataclass(frozen=True)
class NodeNeed:
    """What the ranks of one node ask for; `available_bytes` is the node's share of what the host has available."""

    node: int
    ranks: int
    needed_bytes: int
    available_bytes: int


def binding(request: PlanRequest) -> Binding:
    """How ranks are kept to a node: "bound", "preferred" or "". Bound ones need numactl on the host, which planning does not see."""
    rules, environment = request.rules, request.environment
    switch = rules.host_binding_switch
    wanted: Binding
    if request.arguments.get(_ARGUMENT) is not None:
        wanted = rules.host_binding_asked
    elif switch and str(environment.get(switch, "")).lower() in _OFF:
        wanted = ""
    else:
        wanted = rules.host_binding
    return "preferred" if wanted == "bound" and str(environment.get(_BINDING, "")).lower() in _OFF else wanted


def crowded_node(request: PlanRequest, cache: HostCache) -> NodeNeed | None:
    """The node whose ranks ask for most beyond what it has; None where all fit, or where cards or nodes are not known."""
    needs = [need for need in _needs(request, cache) if need.needed_bytes > need.available_bytes]
    return max(needs, key=lambda need: need.needed_bytes - need.available_bytes, default=None)


def _needs(request: PlanRequest, cache: HostCache) -> list[NodeNeed]:
    nodes = _nodes_of_ranks(request)
    if nodes is None or len(nodes) != cache.ranks:
        return []
    sizes = [sum(pool.allocated_bytes for pool in stage) for stage in cache.stages for _rank in range(cache.tp)]
    process = rank_process_bytes(request.serving.device)
    return [
        NodeNeed(
            seen.node,
            nodes.count(seen.node),
            sum(size + process for size, node in zip(sizes, nodes) if node == seen.node),
            _share(request.host, seen.total_bytes),
        )
        for seen in request.host.numa_nodes
    ]


def _nodes_of_ranks(request: PlanRequest) -> list[int] | None:
    """Of each rank in order: what the operator says of its card, else where the card sits."""
    told = request.arguments.get(_ARGUMENT)
    if isinstance(told, (list, tuple)) and all(str(node).isdigit() for node in told):
        return [int(node) for node in told][: len(request.gpus)]
    nodes = [gpu.numa_node for gpu in request.gpus]
    return [node for node in nodes if node is not None] if None not in nodes else None


def _share(host: HostState, node_bytes: int) -> int:
    return node_bytes * host.memory_available_bytes // host.memory_total_bytes


def node_refusal(request: PlanRequest, cache: HostCache) -> Refusal | None:
    need = crowded_node(request, cache) if binding(request) == "bound" else None
    if need is None:
        return None
    fits = max(0, need.available_bytes // need.ranks - rank_process_bytes(request.serving.device)) // GB
    switch = f"set {_BINDING} to '0' in environment, which only prefers the node"
    advice = (
        f"At most {fits} GB per rank fit there: lower hicache_size or hicache_ratio, or {switch}."
        if fits
        else f"No host cache fits there: set hicache to false, or {switch}."
    )
    return Refusal(
        "numa_node",
        f"The {ranks_text(need.ranks)} of NUMA node {need.node} ask for {gb_text(need.needed_bytes)}, and the node has about {gb_text(need.available_bytes)}; "
        f"SGLang {request.rules.engine_version} binds each rank to the memory of its card's node, where numactl is installed, and a full node gets a rank "
        f"killed whatever other nodes have. {advice}",
    )


def node_note(request: PlanRequest, cache: HostCache) -> str | None:
    need = crowded_node(request, cache) if binding(request) == "preferred" else None
    if need is None:
        return None
    return (
        f"The {ranks_text(need.ranks)} of NUMA node {need.node} ask for {gb_text(need.needed_bytes)} and the node has about {gb_text(need.available_bytes)}: "
        "the rest lies on other nodes, and is slower to load back."
    )
