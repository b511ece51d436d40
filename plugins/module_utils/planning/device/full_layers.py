# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One stage's layers that see every token, and what a token costs there. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.sizing_rules import SizingRules
from ..model.attention import Geometry, HybridGeometry, MlaGeometry, OtherAttention, SlidingGeometry
from .draft_pool import cell_with_draft
from .layer_cost import counted_bytes, indexer_bytes, stored_bytes
from .pools import PoolInputs
from .tokens_split import Split


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


def full_stage(inputs: PoolInputs, layers: range, rules: SizingRules) -> FullStage:
    """All layers of the stage, of a hybrid with states those that attend; sliding layers without a pool of their own count as full ones.

    Up to 0.5.7 every stage of a hybrid with states counts the attending layers of all stages, and keeps a buffer for each.
    """
    attention, geometry = inputs.model.attention, geometry_of(inputs)
    counted = held = len(layers)
    if isinstance(attention, HybridGeometry):
        own = attention.pattern[layers.start : layers.stop].count("f")
        counted = held = own if rules.state_full_layers_of_stage else attention.pattern.count("f")
    tp, dtype, raw = inputs.parallelism.attention_tp, inputs.kv_cache_dtype, inputs.wishes.raw_latent_rows
    key = indexer_bytes(geometry)
    reusing = layers_without_index_keys(inputs, layers, rules)
    cell = counted_bytes(geometry, counted, tp, dtype, rules, raw) - key * reusing
    return FullStage(
        cell_with_draft(cell, key * (counted - reusing), key, counted, inputs, rules),
        stored_bytes(geometry, held, tp, dtype, raw) if held else 0,
        key * (held - reusing),
    )


def layers_without_index_keys(inputs: PoolInputs, layers: range, rules: SizingRules) -> int:
    """Layers of the stage that reuse the choice of an earlier layer's sparse indexer, where the engine keeps no keys for them.

    Since SGLang 0.5.18; beside a host cache since 0.5.22 (`_should_elide_dsa_index_k`). GLM-5.2: 57 of 78.
    """
    attention = inputs.model.attention
    every = rules.index_keys == "every" or (rules.index_keys != "own" and inputs.wishes.host_cache)
    if every or not isinstance(attention, MlaGeometry) or attention.index_pattern is None:
        return 0
    return attention.index_pattern[layers.start : layers.stop].count("r")
