# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wishes that the engine takes one by one and refuses together. Private to the collection, may change any time.

Read in SGLang since 0.5.5 (`check_server_args`, `_handle_speculative_decoding`).
"""

from __future__ import annotations

from typing import Callable

from ..core.errors import Refusal
from ..model.attention import MlaGeometry
from .device.graphs import prefill_chunk
from .request.parallelism import MTP_ALGORITHMS
from .request.request import PlanRequest

_UNGROUPED = ("NGRAM", "STANDALONE")
_NGRAM_BREADTH = 10  # --speculative-ngram-max-bfs-breadth unasked, which is the width of its trees
_NGRAM_BACKENDS = ("flashinfer",)
_SPARSE_TYPES = ("bfloat16", "fp8_e4m3")


def combination_refusals(request: PlanRequest) -> tuple[Refusal, ...]:
    if request.serving.device != "cuda" or not request.gpus:
        return ()
    return tuple(refusal for refusal in (check(request) for check in _CHECKS) if refusal is not None)


def _drafts_in_stages(request: PlanRequest) -> Refusal | None:
    serving, switch = request.serving, request.rules.stage_drafts_switch
    if serving.speculative_algorithm is None or serving.pp == 1:
        return None
    chained = serving.speculative_algorithm in MTP_ALGORITHMS and serving.dp == 1
    if chained and switch and str(request.environment.get(switch, "")).lower() in ("1", "true"):
        return None
    advice = f", or set {switch}: '1' in environment" if chained and switch else ""
    return Refusal(
        "speculation",
        f"serving.speculative_algorithm is {serving.speculative_algorithm} and serving.pp is {serving.pp}; SGLang {request.rules.engine_version} "
        f"does not start with drafts and several pipeline stages: set pp to 1 with more tp, or leave the algorithm out{advice}.",
    )


def _drafts_in_groups(request: PlanRequest) -> Refusal | None:
    serving, flag = request.serving, request.rules.dflash_groups_flag
    algorithm = serving.speculative_algorithm
    if serving.dp == 1 or algorithm not in (*_UNGROUPED, "DFLASH"):
        return None
    if algorithm == "DFLASH" and flag and request.arguments.get(flag):
        return None
    advice = f", or set {flag}: true in arguments" if algorithm == "DFLASH" and flag else ""
    return Refusal(
        "speculation",
        f"serving.speculative_algorithm is {algorithm} and serving.dp is {serving.dp}; SGLang {request.rules.engine_version} does not start with these "
        f"drafts and attention data parallelism: set dp to 1, or choose EAGLE, EAGLE3 or NEXTN{advice}.",
    )


def _trees_in_pages(request: PlanRequest) -> Refusal | None:
    """Only where the attention backend is known: given, or the one that every version takes for MLA on sm_120 (triton)."""
    drafting = request.speculation
    if drafting is None or request.page_size == 1:
        return None
    ngram = drafting.algorithm == "NGRAM"
    width = request.arguments.get("speculative-ngram-max-bfs-breadth", _NGRAM_BREADTH) if ngram else drafting.topk
    latent = isinstance(request.model.attention, MlaGeometry) and request.host.compute_capabilities == ("12.0",)
    backend = request.arguments.get("attention-backend") or ("triton" if latent else None)
    able = _NGRAM_BACKENDS if ngram else request.rules.tree_page_backends
    if width == 1 or drafting.algorithm == "DFLASH" or backend is None or backend in able:
        return None
    what = "speculative-ngram-max-bfs-breadth" if ngram else "serving.speculative_eagle_topk"
    return Refusal(
        "speculation",
        f"{what} is {width} and pages hold {request.page_size} tokens; with the attention backend {backend} SGLang {request.rules.engine_version} starts "
        f"with trees of drafts only at page_size 1: set page_size to 1 or {what} to 1, or an attention-backend of {', '.join(able)} in arguments.",
    )


def _sparse_groups(request: PlanRequest) -> Refusal | None:
    serving = request.serving
    if not request.indexed or not request.rules.indexed_groups_forced or serving.dp == serving.tp:
        return None
    return Refusal(
        "data_parallel",
        f"serving.dp is {serving.dp} and {request.model.name} has sparse attention, for which SGLang {request.rules.engine_version} makes every rank of tp an "
        f"attention group of its own, unasked: set dp to {serving.tp}, or choose a newer version.",
    )


def _sparse_type(request: PlanRequest) -> Refusal | None:
    asked = request.kv_cache_dtype
    if not request.indexed or asked in _SPARSE_TYPES:
        return None
    return Refusal(
        "serving_value",
        f"serving.kv_cache_dtype is {asked} and {request.model.name} has sparse attention, which SGLang starts with "
        f"{' or '.join(_SPARSE_TYPES)} only: set kv_cache_dtype to one of those.",
    )


def _chunk_in_pages(request: PlanRequest) -> Refusal | None:
    """Attention data parallelism divides the chunk among its groups before the engine looks at it."""
    dp, page, chunk = request.serving.dp, request.page_size, prefill_chunk(request)
    if chunk is None or chunk < 0 or (chunk >= dp and chunk // dp % page == 0):
        return None
    step = page * dp
    groups = f", {chunk // dp:,} in each of {dp} groups" if dp > 1 else ""
    fitting = sorted({max(step, chunk // step * step), -(-chunk // step) * step})
    return Refusal(
        "chunked_prefill",
        f"A prefill chunk is {chunk:,} tokens{groups} and a page {page:,}; the engine starts only with chunks of whole pages: "
        f"set chunked_prefill_size to {' or '.join(str(size) for size in fitting)}, to -1, or choose another page_size.",
    )


_CHECKS: tuple[Callable[[PlanRequest], Refusal | None], ...] = (
    _drafts_in_stages,
    _drafts_in_groups,
    _trees_in_pages,
    _sparse_groups,
    _sparse_type,
    _chunk_in_pages,
)
