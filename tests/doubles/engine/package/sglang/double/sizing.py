# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine's own arithmetic, for latent and grouped attention (`ModelRunner`, `HostKVCache` of 0.5.9 and 0.5.23).

GPU figures are GiB floats, because that is how the engine computes and prints them.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

from sglang.double import host as hosts
from sglang.double.dialect import Dialect
from sglang.double.host import GIB, Host
from sglang.double.model import Model

RESERVE_BYTES = 10 * GIB
ALLOCATION_SLACK = 0.05
ELEMENT_BYTES = {"auto": 0, "bfloat16": 2, "bf16": 2, "fp8_e4m3": 1, "fp8_e5m2": 1}
DTYPE_NAMES = {"bf16": "bfloat16", "bfloat16": "bfloat16", "fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2"}


class EngineError(Exception):
    """An error that the engine would raise, with the name of its exception."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class Sizes:
    """What one rank allocates; all ranks are alike."""

    cuda: bool
    fraction: float
    kv_dtype: str
    before_gib: float
    weights_gib: float
    reserve_gib: float
    tokens: int
    cell_bytes: int
    kv_gib: float
    requests: int
    context: int
    chunk: int
    request_table_gib: float
    graph_batch_sizes: tuple[int, ...]
    graphs_gib: float
    prefill_graphs: bool
    prefill_graphs_gib: float
    page: int

    @property
    def loaded_gib(self) -> float:
        return self.before_gib - self.weights_gib

    @property
    def pooled_gib(self) -> float:
        return self.loaded_gib - self.kv_gib - self.request_table_gib

    @property
    def free_gib(self) -> float:
        return self.pooled_gib - self.prefill_graphs_gib - self.graphs_gib


def of(options: argparse.Namespace, model: Model, host: Host, dialect: Dialect) -> Sizes:
    """Sizes of the device side; an EngineError where the engine would refuse."""
    ranks = _ranks(options)
    cuda = options.device != "cpu"
    context = options.context_length or model.context
    chunk = options.chunked_prefill_size or (8192 if cuda else 2048 if dialect.version == "0.5.9" else 4096)
    fraction = options.mem_fraction_static or automatic_fraction(host, chunk, ranks, model, dialect)
    before = host.free_before_load_gib if cuda else hosts.available_bytes() / GIB
    weights = model.weights_bytes / ranks / GIB
    if cuda:
        weights = host.weights_gib.get(model.architecture, weights)
    kv_dtype, element = _kv_dtype(options, model)
    cell = model.cell_bytes(ranks, element)
    reserve = dialect.multimodal_reserve_bytes / GIB if model.multimodal else 0.0
    page = options.page_size or 1
    profiled = _profiled_tokens(before, before - weights, fraction, reserve, cell, dialect)
    tokens = min(profiled, options.max_total_tokens or profiled) // page * page
    rows, requests = _requests(options.max_running_requests, profiled, tokens, context, dialect)
    batch_sizes = _graph_batch_sizes(options, ranks, requests, cuda)
    prefill_graphs = cuda and bool(dialect.lines["prefill_graphs_begin"]) and not _prefill_graphs_off(options)
    return Sizes(
        cuda=cuda,
        fraction=fraction,
        kv_dtype=kv_dtype,
        before_gib=before,
        weights_gib=weights,
        reserve_gib=reserve,
        tokens=tokens,
        cell_bytes=cell,
        kv_gib=(tokens + page) * cell / GIB,
        requests=requests,
        context=context,
        chunk=chunk,
        request_table_gib=rows * (context + 4) * 4 / GIB,
        graph_batch_sizes=batch_sizes,
        # In proportion to the number of graphs, as far as one recording tells.
        graphs_gib=host.graphs_gib * len(batch_sizes) / host.graphs_batch_sizes,
        prefill_graphs=prefill_graphs,
        prefill_graphs_gib=host.prefill_graphs_gib if prefill_graphs else 0.0,
        page=page,
    )


def _ranks(options: argparse.Namespace) -> int:
    return int(getattr(options, "tp_size", None) or getattr(options, "tensor_parallel_size", 1))


def automatic_fraction(host: Host, chunk: int, ranks: int, model: Model, dialect: Dialect) -> float:
    """`--mem-fraction-static` when it is not given, for 60 to 160 GiB of GPU memory, without speculation (0.5.3 to 0.5.23)."""
    graphs = 512 if ranks >= 4 else 256
    reserved = max(512 + 1.5 * max(chunk, 2048) + 2 * graphs + 1024 * ranks / 8, 10240)
    fraction = round((host.gpu_total_mib - reserved) / host.gpu_total_mib, 3)
    if not model.multimodal:
        return fraction
    vision = model.raw["vision_config"]
    # The config class of Kimi-K2.5 has other names and falls back to 27 layers of 1152.
    other = "vt_hidden_size" in vision
    layers = 27 if other else vision.get("num_hidden_layers", 24)
    width = 1152 if other else vision.get("hidden_size", 1024)
    load = layers * width**2 / (24 * 1024**2)
    return fraction * 0.95 * min(max(1 - 0.1 * (load - 1), 0.8), 1.05)


def _kv_dtype(options: argparse.Namespace, model: Model) -> tuple[str, int]:
    asked = options.kv_cache_dtype
    if asked == "auto":
        return model.kv_dtype, 1 if model.kv_dtype.startswith("float8") else 2
    if asked not in ELEMENT_BYTES:
        raise SystemExit(f"the engine double does not know the size of --kv-cache-dtype {asked}")
    return DTYPE_NAMES[asked], ELEMENT_BYTES[asked]


def _profiled_tokens(before: float, loaded: float, fraction: float, reserve: float, cell: int, dialect: Dialect) -> int:
    rest = loaded - before * (1 - fraction) - reserve
    tokens = int(rest * GIB) // cell
    if tokens <= 0:
        minimum = 1 - loaded / before
        message = dialect.lines["no_memory"].format(
            fraction=fraction, suggested=math.ceil(minimum * 1000) / 1000, minimum=minimum
        )
        raise EngineError("ValueError" if dialect.info_is_resolved else "RuntimeError", message)
    return tokens


def _requests(asked: int | None, profiled: int, tokens: int, context: int, dialect: Dialect) -> tuple[int, int]:
    """Rows of the request table, and how many requests may run. 0.5.9 estimates the rows before the cap on tokens, 0.5.23 after it."""
    basis = tokens if dialect.info_is_resolved else profiled
    estimate = min(max(int(basis / context * 512), 2048), 4096)
    if dialect.info_is_resolved:
        running = min(asked or estimate, tokens // 2)
        return running + 1, running
    rows = asked or estimate
    return rows, min(asked or tokens // 2, rows)


def _prefill_graphs_off(options: argparse.Namespace) -> bool:
    return bool(
        options.disable_cuda_graph
        or options.disable_prefill_cuda_graph
        or options.cuda_graph_backend_prefill == "disabled"
    )


def _graph_batch_sizes(options: argparse.Namespace, ranks: int, requests: int, cuda: bool) -> tuple[int, ...]:
    if not cuda or options.disable_cuda_graph:
        return ()
    asked = getattr(options, "cuda_graph_max_bs_decode", None) or getattr(options, "cuda_graph_max_bs", None)
    largest = min(asked or (512 if ranks >= 4 else 256), requests)
    sizes: list[int] = [1, 2, 4, 8, 12, *range(16, 257, 8), *range(272, 512, 16), *range(512, largest + 1, 32)]
    return tuple(size for size in sizes if size <= largest)


@dataclass(frozen=True)
class HostPool:
    """The hierarchical cache of one rank in host memory."""

    tokens: int
    size_bytes: int
    ratio: float
    sizing: tuple[float, int] | None  # ratio asked for and budget in bytes, when the engine sized it by itself


def host_pool(options: argparse.Namespace, sizes: Sizes, dialect: Dialect) -> HostPool | None:
    if not options.enable_hierarchical_cache:
        return None
    ranks = _ranks(options)
    available = hosts.available_bytes()
    if dialect.budget_is_shared:
        available = min(available, hosts.cgroup_headroom_bytes())
    budget = available - RESERVE_BYTES
    if dialect.budget_is_shared:
        budget //= ranks
    ratio = options.hicache_ratio or 2.0
    sizing: tuple[float, int] | None = None
    if dialect.budget_is_shared and options.hicache_ratio is None and not options.hicache_size:
        limit = int(budget * options.hicache_host_memory_fraction)
        sizing = (ratio, limit)
        ratio = min(ratio, limit * (1 - ALLOCATION_SLACK) / (sizes.tokens * sizes.cell_bytes))
    if options.hicache_size > 0:
        tokens = int(options.hicache_size * 1e9 // sizes.cell_bytes)
    else:
        tokens = int(sizes.tokens * ratio)
    tokens = (tokens // sizes.page + 1) * sizes.page
    if dialect.pool_must_exceed_device and tokens <= sizes.tokens:
        raise EngineError(
            "AssertionError", "The host memory should be larger than the device memory with the current protocol"
        )
    size = tokens * sizes.cell_bytes
    if size > budget:
        raise EngineError(
            "ValueError",
            f"Not enough host memory available. Requesting {size / 1e9:.2f} GB but only have {budget / 1e9:.2f} GB free. "
            "Please reduce the size of the hierarchical cache.",
        )
    return HostPool(tokens=tokens, size_bytes=size, ratio=ratio, sizing=sizing)
