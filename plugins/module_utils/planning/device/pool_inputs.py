# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a request to what the engine sizes its pools from. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...model.attention import HybridGeometry
from ...model.spec import ModelSpec
from ...sglang.sizing_rules import SizingRules
from ..request.parallelism import Parallelism, Speculation
from ..request.request import PlanRequest
from .graphs import prefill_chunk
from .pools import PoolInputs, PoolOptions


def scheduled(
    model: ModelSpec, options: PoolOptions, speculation: Speculation | None, rules: SizingRules
) -> PoolOptions:
    """The wishes with radix cache, overlap and extra buffer as they take effect (`_handle_mamba_radix_cache`).

    Up to 0.5.13 there is no extra buffer unless one is asked for; 0.5.7 to 0.5.9 then give up the radix cache where drafts are
    verified. Since 0.5.14 the architectures that can have one do, unless batches do not overlap and pages hold one token.
    """
    if not isinstance(model.attention, HybridGeometry) or not options.radix_cache:
        return options
    buffer = options.state_extra_buffer
    if buffer is None:
        able = model.architecture in rules.extra_buffer_architectures
        buffer = able and (options.overlap_schedule or options.page_size > 1)
    if buffer:
        return replace(options, state_extra_buffer=True)
    if speculation is not None and rules.state_with_drafts == "no_radix_cache":
        return replace(options, state_extra_buffer=False, radix_cache=False)
    return replace(options, state_extra_buffer=False, overlap_schedule=False)


def refuses_drafts(model: ModelSpec, options: PoolOptions, speculation: Speculation | None, rules: SizingRules) -> bool:
    """Whether the engine ends the start of a hybrid for drafts beside a radix cache: 0.5.10 to 0.5.13 without an extra buffer."""
    found = scheduled(model, options, speculation, rules)
    return (
        isinstance(model.attention, HybridGeometry)
        and speculation is not None
        and rules.state_with_drafts == "refused"
        and found.radix_cache
        and not found.state_extra_buffer
    )


# One chain of three guesses: what the engine takes for MoE models by itself (0.5.5 to 0.5.23). Trees (topk above 1) need page size 1
# and are refused by some backends, so that nothing wider is chosen unasked.
_STEPS, _TOPK = 3, 1
WITHOUT_STEPS = ("DFLASH", "NGRAM")  # a block of guesses at once
_DRAFT_TOKENS = {"DFLASH": 16, "NGRAM": 12}  # the engine's own defaults


def parallelism(request: PlanRequest) -> Parallelism:
    serving = request.serving
    return Parallelism(serving.tp, serving.pp, serving.dp)


def speculation(request: PlanRequest) -> Speculation | None:
    """What drafts, with the engine's rule that a chain (topk 1) verifies one token more than it guesses."""
    serving = request.serving
    if serving.speculative_algorithm is None:
        return None
    steps = serving.speculative_num_steps or _STEPS
    topk = serving.speculative_eagle_topk or _TOPK
    asked = serving.speculative_num_draft_tokens
    chain = topk == 1 and serving.speculative_algorithm not in WITHOUT_STEPS
    draft_tokens = steps + 1 if chain else asked or _DRAFT_TOKENS.get(serving.speculative_algorithm, steps + 1)
    return Speculation(serving.speculative_algorithm, steps, topk, draft_tokens, request.draft)


def pool_wishes(request: PlanRequest) -> PoolOptions:
    serving, arguments = request.serving, request.arguments
    options = PoolOptions(
        page_size=request.page_size,
        max_total_tokens=serving.max_total_tokens,
        max_running_requests=serving.max_running_requests,
        swa_full_tokens_ratio=serving.swa_full_tokens_ratio,
        state_full_memory_ratio=serving.mamba_full_memory_ratio,
        max_state_slots=serving.max_mamba_cache_size,
        state_dtype=serving.mamba_ssm_dtype,
        radix_cache=not arguments.get("disable-radix-cache"),
        host_cache=serving.cached,
        overlap_schedule=not arguments.get("disable-overlap-schedule"),
        state_extra_buffer=_extra_buffer(arguments),
        hybrid_sliding_memory=not arguments.get("disable-hybrid-swa-memory"),
        chunked_prefill_size=prefill_chunk(request),
        raw_latent_rows=_raw_rows(arguments),
    )
    return scheduled(request.model, options, speculation(request), request.rules)


def pool_inputs(
    request: PlanRequest, fraction: float, base_bytes: int, weights_bytes: int, draft_weights_bytes: int
) -> PoolInputs:
    """One rank's figures at this fraction: the poorest card's base, and the weights that it will hold."""
    return PoolInputs(
        model=request.model,
        parallelism=parallelism(request),
        kv_cache_dtype=request.kv_cache_dtype,
        context_length=request.context_length,
        fraction=fraction,
        free_before_bytes=base_bytes,
        free_after_bytes=base_bytes - weights_bytes,
        reserve_bytes=request.multimodal_reserve_bytes,
        speculation=speculation(request),
        draft_weights_bytes=draft_weights_bytes,
        options=pool_wishes(request),
    )


def _extra_buffer(arguments: Mapping[str, Any]) -> bool | None:
    """What the operator says of an extra buffer of states; None: the engine's own choice, which needs its own backend."""
    strategy = arguments.get("mamba-radix-cache-strategy") or arguments.get("mamba-scheduler-strategy")
    told = {"extra_buffer": True, "extra_buffer_lazy": True, "no_buffer": False}.get(str(strategy))
    return False if told is None and arguments.get("linear-attn-backend", "triton") != "triton" else told


def _raw_rows(arguments: Mapping[str, Any]) -> bool:
    """Backends of sparse attention whose fp8 rows hold no scales (0.5.5 to 0.5.23)."""
    names = ("nsa-prefill-backend", "nsa-decode-backend", "dsa-prefill-backend", "dsa-decode-backend")
    return any(arguments.get(name) in ("trtllm", "tilelang") for name in names)
