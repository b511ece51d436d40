# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pools of one stage's layers: those that see every token, and those that see a window. Private to the collection, may change any time.

F and S are the bytes of one token in one layer of either kind, nf and ns the numbers of layers, r the wished ratio of sliding tokens to full ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...model.attention import Geometry, HybridGeometry, MlaGeometry, OtherAttention, SlidingGeometry
from ...sglang.sizing_rules import SizingRules
from .draft_pool import cell_with_draft, counted_draft_layers, dflash_cell_bytes, step_tokens
from .pool_inputs import PoolInputs
from .pools import NO_SPLIT, Split, aligned
from .token_cost import counted_bytes, indexer_bytes, stored_bytes

_DEFAULT_RATIO = 0.8
_EVICTION_INTERVAL = 128  # SGLANG_SWA_EVICTION_INTERVAL, since 0.5.14


@dataclass(frozen=True)
class SlidingStage:
    """`full_cell` and `sliding_cell` are bytes of a token in all layers of a kind with what is set aside for a draft; `request_cap` is a fixed
    number of sliding tokens, where the version makes the pool for a known number of requests.
    """

    full: int
    sliding: int
    full_bytes: int
    sliding_bytes: int
    full_cell: int
    sliding_cell: int
    profiled_cell: int
    ratio: float
    window: int
    page: int
    all_layers: int
    stored_full_bytes: int
    stored_sliding_bytes: int
    request_cap: int | None
    rules: SizingRules

    def fitting(self, available_bytes: int) -> int | None:
        """Tokens before pages: of all layers alike up to 0.5.10 (then they are shared out), of max_total_num_tokens since 0.5.11."""
        if not self.sliding:
            return 0  # the engine stops at a stage without sliding layers
        if self.rules.sliding_split != "direct":
            return available_bytes // self.profiled_cell
        if self.request_cap is not None:
            return max(0, (available_bytes - self.request_cap * self.sliding_cell) // self.full_cell)
        if not self.full:
            return available_bytes // (self.sliding_cell + self.full_cell)
        return int(available_bytes // (self.full_cell + self.ratio * self.sliding_cell))

    def split(self, tokens: int, limit: int | None) -> Split:
        """`tokens` in whole pages as two pools. `limit`: what --max-total-tokens says, where that is less than fits."""
        if not self.full:
            return Split(tokens, 0, tokens)
        if self.rules.sliding_split != "direct":
            return self._shared_out(tokens)
        if self.request_cap is not None:
            return Split(tokens, tokens, self.request_cap if limit is None else min(self.request_cap, limit))
        sliding = aligned(int(tokens * self.ratio), self.page)
        if self.rules.sliding_floor and self.window + self.page >= sliding:
            return NO_SPLIT
        return Split(tokens, tokens, sliding)

    def _shared_out(self, tokens: int) -> Split:
        """By layers in 0.5.7 and 0.5.8: tokens x layers / (r ns + nf). By bytes in 0.5.9 and 0.5.10: tokens x (F nf + S ns) / (F nf + r S ns).

        Sliding tokens are r times the full ones, before pages up to 0.5.9 and after them in 0.5.10 (`set_num_tokens_hybrid_swa`, `_resolve_hybrid_swa_tokens`).
        """
        if self.rules.sliding_split == "layers":
            full = int(tokens * self.all_layers / (self.ratio * self.sliding + self.full))
        else:
            full_cell, sliding_cell = self.full_bytes * self.full, self.sliding_bytes * self.sliding
            share = full_cell + self.ratio * self.sliding_bytes * self.sliding
            full = int(tokens * (full_cell + sliding_cell) / share)
        whole = aligned(full, self.page)
        of = whole if self.rules.sliding_split == "bytes_of_pages" else full
        return Split(whole, whole, aligned(int(of * self.ratio), self.page))


def has_sliding_pool(inputs: PoolInputs) -> bool:
    """Whether this version gives this model's sliding layers a pool of their own."""
    model = inputs.model
    return (
        isinstance(model.attention, SlidingGeometry)
        and model.architecture in inputs.rules.sliding_architectures
        and inputs.options.hybrid_sliding_memory
    )


def sliding_stage(inputs: PoolInputs, layers: range) -> SlidingStage:
    """Up to 0.5.20 a stage takes in the first layer of the next one, as the engine's lists of layers do: it counts it and keeps a buffer for it."""
    attention = inputs.model.attention
    if not isinstance(attention, SlidingGeometry):
        raise TypeError(f"attention of kind {attention.kind} has no sliding layers")
    pattern = attention.pattern[layers.start : layers.stop + (1 if inputs.rules.sliding_stage_overlap else 0)]
    full, sliding = pattern.count("f"), pattern.count("s")
    tp, dtype, options = inputs.parallelism.attention_tp, inputs.kv_cache_dtype, inputs.options
    full_bytes = counted_bytes(attention.full, 1, tp, dtype, inputs.rules)
    sliding_bytes = counted_bytes(attention.sliding, 1, tp, dtype, inputs.rules)
    profiled = full_bytes * full + sliding_bytes * sliding
    if inputs.rules.sliding_counted == "full":
        twice = inputs.model.architecture in inputs.rules.sliding_counted_twice
        profiled = full_bytes * len(layers) + (sliding_bytes * sliding if twice else 0)
    draft_full, draft_sliding = _draft_layers(inputs)
    return SlidingStage(
        full=full,
        sliding=sliding,
        full_bytes=full_bytes,
        sliding_bytes=sliding_bytes,
        full_cell=full_bytes * (full + draft_full) + (dflash_cell_bytes(inputs)),
        sliding_cell=sliding_bytes * (sliding + draft_sliding),
        profiled_cell=profiled,
        ratio=_DEFAULT_RATIO if options.swa_full_tokens_ratio is None else options.swa_full_tokens_ratio,
        window=attention.window,
        page=options.page_size,
        all_layers=inputs.model.layers,
        stored_full_bytes=stored_bytes(attention.full, full, tp, dtype),
        stored_sliding_bytes=stored_bytes(attention.sliding, sliding, tp, dtype),
        request_cap=_request_cap(inputs, attention.window) if full else None,
        rules=inputs.rules,
    )


def _draft_layers(inputs: PoolInputs) -> tuple[int, int]:
    """(full, sliding) layers of EAGLE's draft that the sizes make room for; sliding ones apart since 0.5.19."""
    layers = (
        counted_draft_layers(inputs.model, inputs.speculation, inputs.rules)
        if inputs.rules.draft_counted_from == "all"
        else 0
    )
    draft = inputs.speculation.draft if inputs.speculation is not None else None
    if (
        not layers
        or draft is None
        or not inputs.rules.draft_sliding_counted
        or not isinstance(draft.attention, SlidingGeometry)
    ):
        return layers, 0
    sliding = min(draft.attention.pattern.count("s"), layers)
    return layers - sliding, sliding


def _request_cap(inputs: PoolInputs, window: int) -> int | None:
    """Sliding tokens that the asked number of requests can hold at once, in whole pages. Since 0.5.14, without a radix cache.

    Each: the window, what is not evicted yet, a page, and what the next steps take; the chunks in flight come on top
    (`SWAChunkCapPoolConfigurator`; 0.5.22 renames it).
    """
    options, page = inputs.options, inputs.options.page_size
    asked, chunk = inputs.requests_asked, options.chunked_prefill_size
    if not inputs.rules.sliding_request_cap or options.radix_cache or asked is None or chunk is None or chunk <= 0:
        return None
    speculation = inputs.speculation
    ahead = page if speculation is None else 2 * step_tokens(speculation, page)
    drafts = speculation.draft_tokens if speculation is not None else 1
    each = window + _EVICTION_INTERVAL * drafts + page + ahead
    tokens = each * (asked // inputs.parallelism.dp) + (2 if options.overlap_schedule else 1) * chunk + page
    return -(-tokens // page) * page


@dataclass(frozen=True)
class FullStage:
    """`cell_bytes` of a token as the profiler counts it, a draft's part included; the others as they are stored."""

    cell_bytes: int
    stored_bytes: int
    indexer_bytes: int

    def fitting(self, available_bytes: int) -> int | None:
        """Tokens before pages; None where the stage keeps nothing of them, and so sets no limit."""
        return available_bytes // self.cell_bytes if self.cell_bytes else None

    def split(self, tokens: int, limit: int | None) -> Split:
        return Split(tokens, tokens, 0)


def geometry_of(inputs: PoolInputs) -> Geometry:
    """Of the layers that see every token; raises TypeError for attention whose pools are not known."""
    attention = inputs.model.attention
    if isinstance(attention, OtherAttention):
        raise TypeError(f"the pools of {attention.what} are not known; preflight refuses the model")
    return attention.full if isinstance(attention, (SlidingGeometry, HybridGeometry)) else attention


def full_stage(inputs: PoolInputs, layers: range) -> FullStage:
    """All layers of the stage, of a hybrid with states those that attend; sliding layers without a pool of their own count as full ones.

    Up to 0.5.7 every stage of a hybrid with states counts the attending layers of all stages, and keeps a buffer for each.
    """
    attention, geometry = inputs.model.attention, geometry_of(inputs)
    counted = held = len(layers)
    if isinstance(attention, HybridGeometry):
        own = attention.pattern[layers.start : layers.stop].count("f")
        counted = held = own if inputs.rules.state_full_layers_of_stage else attention.pattern.count("f")
    tp, dtype, raw = inputs.parallelism.attention_tp, inputs.kv_cache_dtype, inputs.options.raw_latent_rows
    key = indexer_bytes(geometry)
    reusing = layers_without_index_keys(inputs, layers)
    cell = counted_bytes(geometry, counted, tp, dtype, inputs.rules, raw) - key * reusing
    return FullStage(
        cell_with_draft(cell, key * (counted - reusing), key, counted, inputs),
        stored_bytes(geometry, held, tp, dtype, raw) if held else 0,
        key * (held - reusing),
    )


def layers_without_index_keys(inputs: PoolInputs, layers: range) -> int:
    """Layers of the stage that reuse the choice of an earlier layer's sparse indexer, where the engine keeps no keys for them.

    Since SGLang 0.5.18; beside a host cache since 0.5.22 (`_should_elide_dsa_index_k`). GLM-5.2: 57 of 78.
    """
    attention = inputs.model.attention
    every = inputs.rules.index_keys == "every" or (inputs.rules.index_keys != "own" and inputs.options.host_cache)
    if every or not isinstance(attention, MlaGeometry) or attention.index_pattern is None:
        return 0
    return attention.index_pattern[layers.start : layers.stop].count("r")
