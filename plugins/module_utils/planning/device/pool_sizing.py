# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pools of one rank, as the engine of a version makes them. Private to the collection, may change any time.

The steps are the engine's, in its order and in its floats of GiB, so that the last token is right.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import Union

from ...core.units import GIB
from ...model.attention import HybridGeometry
from .draft_pool import EAGLE, draft_slot_bytes, extra_tokens, rotary_tables_bytes, spare_columns
from .layer_pools import FullStage, SlidingStage, full_stage, has_sliding_pool, sliding_stage
from .pool_inputs import PoolInputs
from .pools import (
    NO_SPLIT,
    DevicePools,
    Pool,
    RunningRequests,
    Split,
    aligned,
    default_rows,
    running_requests,
)
from .state_pools import StateSizes, state_pools, state_sizes

Stage = Union[FullStage, SlidingStage]


@dataclass(frozen=True)
class _Fit:
    """What one stage could take: `fitted` tokens before anything is added or cut, `tokens` in whole pages after it; `limit` is a cap that binds."""

    layers: range
    stage: Stage
    fitted: int
    tokens: int
    limit: int | None


def size_pools(inputs: PoolInputs) -> DevicePools:
    """Tokens, requests and pools of one rank of the stage that has the least room; 0 tokens and no pools where the engine would not start.

    SGLang since 0.5.5. Raises TypeError for attention whose pools are not known. `tokens` is the log's max_total_num_tokens: of
    one group with attention data parallelism, the least of all stages with pipeline stages.
    """
    sized = size_stages(inputs)
    return next((stage for stage in sized if stage.limiting), sized[0])


def size_stages(inputs: PoolInputs) -> tuple[DevicePools, ...]:
    """The same for each pipeline stage that keeps anything of a token, in order: as many tokens as in the poorest, its own layers of them."""
    attention = inputs.model.attention
    rest, states = rest_gib(inputs), None
    if isinstance(attention, HybridGeometry):
        states = state_sizes(inputs, attention, rest)
        if states.request_limit <= 0:
            return (_nothing(inputs, 0),)
        rest = states.rest_gib
    if rest <= 0 and not inputs.rules.draft_extra_tokens:
        return (_nothing(inputs, 0),)
    found = (_fit(inputs, layers, int(rest * GIB), states) for layers in inputs.stages)
    fits = [fit for fit in found if fit is not None]
    if not fits or (len(fits) < len(inputs.stages) and not inputs.rules.stage_without_tokens):
        return (_nothing(inputs, 0),)
    limiting = min(fits, key=lambda fit: fit.tokens)
    split = _split(limiting, limiting)
    if split.total <= 0:
        return (_nothing(inputs, limiting.fitted),)
    if _requests(inputs, split.total, limiting.fitted, states).limit <= 0:
        return (_nothing(inputs, limiting.fitted),)
    return tuple(_stage(inputs, fit, limiting, states) for fit in fits)


def _stage(inputs: PoolInputs, fit: _Fit, limiting: _Fit, states: StateSizes | None) -> DevicePools:
    """The stages agree on tokens; up to 0.5.9 each has made its table before, of the tokens that fit in itself."""
    split = _split(fit, limiting)
    requests = _requests(inputs, split.total, fit.fitted, states)
    pools = _pools(inputs, replace(fit, tokens=limiting.tokens), split, requests, states)
    return DevicePools(split.total, limiting.fitted, requests, pools, fit is limiting)


def _split(fit: _Fit, limiting: _Fit) -> Split:
    if limiting.tokens <= 0:
        return NO_SPLIT
    limit = limiting.tokens if limiting.limit is None and limiting.tokens < fit.tokens else limiting.limit
    return fit.stage.split(limiting.tokens, limit)


def rest_gib(inputs: PoolInputs) -> float:
    """GiB for all pools: what is free after the load less the part of what was free before it that the fraction leaves.

    Since 0.5.7 a vision tower's rotary table has grown by then; since 0.5.14 the draft is loaded; since 0.5.18 multimodal models lose a
    reserve. The minimum over several ranks is taken in single precision (`get_available_gpu_memory`, since 0.5.5).
    """
    loaded = inputs.free_after_bytes - rotary_tables_bytes(inputs)
    if inputs.rules.draft_counted_from != "none":
        loaded -= inputs.draft_weights_bytes
    several = inputs.parallelism.world > 1
    before, after = _seen(inputs.free_before_bytes, several), _seen(loaded, several)
    return after - before * (1 - inputs.fraction) - inputs.reserve_bytes / GIB


def _seen(size_bytes: int, several: bool) -> float:
    gib = size_bytes / GIB
    return float(struct.unpack("f", struct.pack("f", gib))[0]) if several else gib


def _fit(inputs: PoolInputs, layers: range, available_bytes: int, states: StateSizes | None) -> _Fit | None:
    """None for a stage that keeps nothing of a token."""
    sliding = has_sliding_pool(inputs)
    stage: Stage = sliding_stage(inputs, layers) if sliding else full_stage(inputs, layers)
    fitted = stage.fitting(available_bytes)
    if fitted is None:
        return None
    most = fitted + _extra_tokens(inputs, fitted, states)
    page, asked = inputs.options.page_size, inputs.options.max_total_tokens
    limit = asked if asked is not None and asked < aligned(most, page) else None
    tokens = aligned(max(0, most if limit is None else limit), page)
    return _Fit(layers, stage, fitted, tokens, limit)


def _extra_tokens(inputs: PoolInputs, fitted: int, states: StateSizes | None) -> int:
    speculation = inputs.speculation
    if speculation is None or not inputs.rules.draft_extra_tokens or speculation.algorithm not in EAGLE:
        return 0
    asked = inputs.requests_asked
    rows = default_rows(fitted, fitted, inputs.context_length, inputs.rules) if asked is None else asked
    return extra_tokens(rows if states is None else min(rows, states.request_limit), speculation)


def _requests(inputs: PoolInputs, tokens: int, fitted: int, states: StateSizes | None) -> RunningRequests:
    return running_requests(
        tokens,
        fitted,
        inputs.context_length,
        inputs.requests_asked,
        inputs.rules,
        groups=inputs.parallelism.dp,
        state_limit=states.request_limit if states is not None else None,
        draft_columns=spare_columns(inputs.speculation, inputs.options.page_size, inputs.rules),
    )


def _nothing(inputs: PoolInputs, fitted: int) -> DevicePools:
    return DevicePools(0, max(0, fitted), _requests(inputs, 0, max(0, fitted), None), ())


def _pools(
    inputs: PoolInputs,
    fit: _Fit,
    split: Split,
    requests: RunningRequests,
    states: StateSizes | None,
) -> tuple[Pool, ...]:
    page, stage = inputs.options.page_size, fit.stage
    pools: list[Pool] = []
    if isinstance(stage, SlidingStage):
        if split.full:
            pools.append(Pool("KV cache", "full", split.full, stage.stored_full_bytes, page))
        pools.append(Pool("sliding-window KV cache", "sliding", split.sliding, stage.stored_sliding_bytes, page))
    else:
        pools.append(Pool("KV cache", "full", split.full, stage.stored_bytes, page))
        if stage.indexer_bytes:
            pools.append(Pool("indexer keys", "indexer", split.full, stage.indexer_bytes, page))
    if states is not None and isinstance(inputs.model.attention, HybridGeometry):
        pools += state_pools(inputs, inputs.model.attention, states, requests.rows, fit.layers)
    draft = draft_slot_bytes(inputs)
    if draft:
        slots = fit.tokens if inputs.rules.draft_before_cut else split.total
        pools.append(Pool("draft KV cache", "draft", slots, draft, page))
    return tuple(pools)
