# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the engine sizes its pools from, derived from a request once. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ...model.attention import HybridGeometry
from ...model.spec import ModelSpec
from ...sglang.sizing_rules import SizingRules
from ..request.parallelism import Parallelism, Speculation, stages
from ..request.request import PlanRequest
from .graphs import prefill_chunk

DEFAULT_REQUESTS = 48  # --max-running-requests with any speculation, since 0.5.5


@dataclass(frozen=True)
class PoolOptions:
    """What the operator fixed; None: the engine's default of the version. `max_state_slots` is --max-mamba-cache-size.

    Radix cache, overlap and extra buffer are as they take effect, see `scheduled`, and so is `chunked_prefill_size`, which
    counts for sliding layers without a radix cache. `raw_latent_rows`: sparse attention by a backend (trtllm, tilelang) whose fp8 rows
    hold no scales.
    """

    page_size: int = 1
    max_total_tokens: int | None = None
    max_running_requests: int | None = None
    swa_full_tokens_ratio: float | None = None
    state_full_memory_ratio: float | None = None
    max_state_slots: int | None = None
    state_dtype: str | None = None
    radix_cache: bool = True
    host_cache: bool = False
    overlap_schedule: bool = True
    state_extra_buffer: bool | None = None
    hybrid_sliding_memory: bool = True
    chunked_prefill_size: int | None = None
    raw_latent_rows: bool = False


@dataclass(frozen=True)
class PoolInputs:
    """One rank's figures when the engine sizes its pools, with what follows from them. `free_after_bytes` is after the target's weights alone.

    `draft_weights_bytes` are loaded before the sizing since 0.5.14, after it before that. `reserve_bytes` is what the KV budget loses to multimodal input.
    """

    rules: SizingRules
    model: ModelSpec
    parallelism: Parallelism
    kv_cache_dtype: str
    context_length: int
    fraction: float
    free_before_bytes: int
    free_after_bytes: int
    reserve_bytes: int = 0
    speculation: Speculation | None = None
    draft_weights_bytes: int = 0
    options: PoolOptions = PoolOptions()

    @cached_property
    def stages(self) -> tuple[range, ...]:
        """The layers of each pipeline stage."""
        return stages(self.model.layers, self.parallelism.pp, self.rules)

    @cached_property
    def requests_asked(self) -> int | None:
        """--max-running-requests as it takes effect: with speculation the engine sets it where nobody did."""
        if self.options.max_running_requests is None and self.speculation is not None:
            return DEFAULT_REQUESTS
        return self.options.max_running_requests


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


def pool_options(request: PlanRequest) -> PoolOptions:
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
    return scheduled(request.model, options, request.speculation, request.rules)


def pool_inputs(
    request: PlanRequest, fraction: float, base_bytes: int, weights_bytes: int, draft_weights_bytes: int
) -> PoolInputs:
    """One rank's figures at this fraction: the poorest card's base, and the weights that it will hold."""
    return PoolInputs(
        rules=request.rules,
        model=request.model,
        parallelism=request.parallelism,
        kv_cache_dtype=request.kv_cache_dtype,
        context_length=request.context_length,
        fraction=fraction,
        free_before_bytes=base_bytes,
        free_after_bytes=base_bytes - weights_bytes,
        reserve_bytes=request.multimodal_reserve_bytes,
        speculation=request.speculation,
        draft_weights_bytes=draft_weights_bytes,
        options=pool_options(request),
    )


def _extra_buffer(arguments: Mapping[str, Any]) -> bool | None:
    """What the operator says of an extra buffer of states; None: the engine's own choice, which needs its own backend."""
    strategy = arguments.get("mamba-radix-cache-strategy") or arguments.get("mamba-scheduler-strategy")
    told = {"extra_buffer": True, "extra_buffer_lazy": True, "no_buffer": False}.get(str(strategy))
    return False if told is None and arguments.get("linear-attn-backend", "triton") != "triton" else told


def _raw_rows(arguments: Mapping[str, Any]) -> bool:
    """Backends of sparse attention whose fp8 rows hold no scales (since 0.5.5)."""
    names = ("nsa-prefill-backend", "nsa-decode-backend", "dsa-prefill-backend", "dsa-decode-backend")
    return any(arguments.get(name) in ("trtllm", "tilelang") for name in names)
