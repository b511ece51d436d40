# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drafts: the room that the target leaves, what the draft stores, and the rotary tables that grow. Private to the collection, may change any time."""

from __future__ import annotations

from ...core.units import MIB
from ...model.attention import Geometry, GqaGeometry, HybridGeometry, OtherAttention, SlidingGeometry
from ...model.spec import ModelSpec
from ...sglang.sizing_rules import SizingRules
from ..request.parallelism import Speculation
from .pool_inputs import PoolInputs
from .token_cost import element_bytes, indexer_bytes, kv_heads, stored_bytes

# Of a vision tower's table as it is loaded.
_ROWS = 8192
# What is reserved beyond the context: tokens of drafts so many times, a margin, whole steps.
_DRAFTS, _MARGIN, _STEP = 2, 256, 128
_ELEMENT_BYTES = 4
# PyTorch gives tensors of so much a segment of their own in whole steps; smaller ones share segments of 20 MiB.
_SEGMENT_BYTES, _SEGMENT_STEP = 10 * MIB, 2 * MIB


def rotary_tables_bytes(inputs: PoolInputs) -> int:
    """Bytes of a rank that are gone between "Load weight end" and the sizing: a vision tower's table, lengthened to the text's context.

    Since SGLang 0.5.7, on CUDA: `reserve_rope_cache_for_long_sequences` lengthens every table of the model, and of Qwen3-VL's tower and its
    like that is one of `vision_rotary_dim` float32 numbers a row. The old one lies among other tensors and gives nothing back. 0 where the new one is
    below 10 MiB and may find room in a segment that is there, where the dimension is not known, and for the text's own tables: those
    are as long as the model's context, so that 256 rows are added and the old segment is returned, a step of 2 MiB at the most by
    the source. docs/measured-starts.md says what logs show.
    """
    dimension = inputs.model.vision_rotary_dim
    if dimension is None or inputs.model.architecture not in inputs.rules.vision_table_architectures:
        return 0
    size = _rows(inputs) * dimension * _ELEMENT_BYTES
    return -(-size // _SEGMENT_STEP) * _SEGMENT_STEP if size >= _SEGMENT_BYTES else 0


def _rows(inputs: PoolInputs) -> int:
    told = inputs.speculation
    drafts = _DRAFTS * told.steps * told.draft_tokens if told is not None else 0
    needed = inputs.context_length + drafts + _MARGIN
    return max(_ROWS, -(-needed // _STEP) * _STEP)


EAGLE = ("EAGLE", "EAGLE3", "NEXTN", "STANDALONE")  # NEXTN is EAGLE by another name
_DFLASH = "DFLASH"


def draft_geometry(model: ModelSpec, speculation: Speculation) -> Geometry | None:
    """How the draft's layers store a token; MTP layers store it as the target's full layers do."""
    attention = (speculation.draft or model).attention
    if isinstance(attention, OtherAttention):
        return None
    return attention.full if isinstance(attention, (SlidingGeometry, HybridGeometry)) else attention


def stored_draft_layers(model: ModelSpec, speculation: Speculation | None) -> int:
    """Layers of the draft's own pool: of a draft its MTP layers or all, of the target its MTP layers or one. 0: the algorithm has no pool."""
    if speculation is None or speculation.algorithm not in (*EAGLE, _DFLASH):
        return 0
    draft = speculation.draft
    return (draft.draft_layers or draft.layers) if draft is not None else (model.draft_layers or 1)


def counted_draft_layers(model: ModelSpec, speculation: Speculation | None, rules: SizingRules) -> int:
    """EAGLE layers that the sizes make room for, each as if it were the target's. Since 0.5.14; MTP layers only of some architectures."""
    if speculation is None or speculation.algorithm not in EAGLE or rules.draft_counted_from == "none":
        return 0
    if speculation.draft is None and model.architecture not in rules.mtp_counted:
        return 0
    return stored_draft_layers(model, speculation)


def dflash_cell_bytes(inputs: PoolInputs) -> int:
    """Bytes of a token that the sizes set aside for a DFLASH draft, by its own geometry; its heads are shared by all tp ranks. Since 0.5.18."""
    speculation = inputs.speculation
    if speculation is None or speculation.algorithm != _DFLASH or inputs.rules.dflash_count != "geometry":
        return 0
    geometry = draft_geometry(inputs.model, speculation)
    if geometry is None:
        return 0
    layers = stored_draft_layers(inputs.model, speculation)
    return _unpacked_bytes(geometry, layers, inputs.parallelism.tp, inputs.kv_cache_dtype)


def _unpacked_bytes(geometry: Geometry, layers: int, tp: int, kv_cache_dtype: str) -> int:
    """Keys and values of a token, an element each: the engine leaves packing and scales of 4-bit values out here."""
    if isinstance(geometry, GqaGeometry):
        width = kv_heads(geometry, tp) * (geometry.head_dim + geometry.v_head_dim)
    else:
        width = geometry.kv_lora_rank + geometry.qk_rope_head_dim
    return width * layers * element_bytes(kv_cache_dtype)


def cell_with_draft(cell: int, indexer: int, key: int, layers: int, inputs: PoolInputs) -> int:
    """The target's bytes of a token, `indexer` of them index keys of `key` bytes each, with what is set aside for a draft of any kind.

    EAGLE: int(cell x (1 + d / layers)) since 0.5.14; with an indexer since 0.5.18 and without one since 0.5.22 the same sum in other steps.
    DFLASH: cell x (layers + d) / layers rounded up, 0.5.11 to 0.5.17; the draft's own bytes since 0.5.18.
    """
    speculation = inputs.speculation
    drafted = counted_draft_layers(inputs.model, speculation, inputs.rules)
    if drafted and layers:
        if inputs.rules.draft_cell == "scaled":
            return int(cell * (1 + drafted / layers))
        if inputs.rules.draft_cell == "scaled_but_indexer" and not indexer:
            return int(cell * (1 + drafted / layers))
        keys = key * drafted
        return cell + int((cell - indexer) * drafted / layers) + keys
    if speculation is not None and speculation.algorithm == _DFLASH and layers:
        if inputs.rules.dflash_count == "layers":
            return -(-cell * (layers + stored_draft_layers(inputs.model, speculation)) // layers)
        return cell + dflash_cell_bytes(inputs)
    return cell


def draft_slot_bytes(inputs: PoolInputs) -> int:
    """Bytes of one token in the draft's pool on one rank, as stored, index keys included. SGLang since 0.5.5."""
    speculation = inputs.speculation
    layers = stored_draft_layers(inputs.model, speculation)
    geometry = draft_geometry(inputs.model, speculation) if speculation is not None else None
    if not layers or geometry is None:
        return 0
    tp = inputs.parallelism.attention_tp
    keys = indexer_bytes(geometry) * layers
    return stored_bytes(geometry, layers, tp, inputs.kv_cache_dtype, inputs.options.raw_latent_rows) + keys


def step_tokens(speculation: Speculation, page: int) -> int:
    """Tokens that one step of drafting and verifying takes of a request (`get_alloc_len_per_decode`, since 0.5.13)."""
    if page == 1 or speculation.topk == 1:
        return max(speculation.steps * speculation.topk, speculation.draft_tokens)
    pages = (page - 1 + speculation.steps + page - 1) // page
    return max(pages * page * speculation.topk, speculation.draft_tokens)


def extra_tokens(requests: int, speculation: Speculation) -> int:
    """Tokens that EAGLE adds to the pool beyond its budget, 0.5.5 and 0.5.6: drafts and their verification of all requests, and 100."""
    return requests * speculation.steps * speculation.topk + requests * speculation.draft_tokens + 100


def spare_columns(speculation: Speculation | None, page: int, rules: SizingRules) -> int:
    """Columns of the request table beyond the context and its 4: the draft tokens, or what two steps take in whole pages."""
    if speculation is None:
        return 0
    extra = speculation.draft_tokens
    reserve = 2 * step_tokens(speculation, page) - 4
    if rules.request_columns == "tree" and page > 1 and speculation.topk > 1:
        extra = max(extra, reserve)
    elif rules.request_columns == "pages" and page > 1:
        extra = max(extra, reserve + page - 1)
    return extra
