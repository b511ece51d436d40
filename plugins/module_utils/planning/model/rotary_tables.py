# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotary tables that the engine lengthens between its load and its sizing. Private to the collection, may change any time."""

from __future__ import annotations

from ...core.sizing_rules import SizingRules
from ...core.units import MIB
from ..device.pools import PoolInputs

# Of a vision tower's table as it is loaded.
_ROWS = 8192
# What is reserved beyond the context: tokens of drafts so many times, a margin, whole steps.
_DRAFTS, _MARGIN, _STEP = 2, 256, 128
_ELEMENT_BYTES = 4
# PyTorch gives tensors of so much a segment of their own in whole steps; smaller ones share segments of 20 MiB.
_SEGMENT_BYTES, _SEGMENT_STEP = 10 * MIB, 2 * MIB


def rotary_tables_bytes(inputs: PoolInputs, rules: SizingRules) -> int:
    """Bytes of a rank that are gone between "Load weight end" and the sizing: a vision tower's table, lengthened to the text's context.

    Since SGLang 0.5.7, on CUDA: `reserve_rope_cache_for_long_sequences` lengthens every table of the model, and of Qwen3-VL's tower and its
    like that is one of `vision_rotary_dim` float32 numbers a row. The old one lies among other tensors and gives nothing back. 0 where the new one is
    below 10 MiB and may find room in a segment that is there, where the dimension is not known, and for the text's own tables: those
    are as long as the model's context, so that 256 rows are added and the old segment is returned, a step of 2 MiB at the most by
    the source. docs/measured-starts.md says what logs show.
    """
    dimension = inputs.model.vision_rotary_dim
    if dimension is None or inputs.model.architecture not in rules.vision_table_architectures:
        return 0
    size = _rows(inputs) * dimension * _ELEMENT_BYTES
    return -(-size // _SEGMENT_STEP) * _SEGMENT_STEP if size >= _SEGMENT_BYTES else 0


def _rows(inputs: PoolInputs) -> int:
    told = inputs.speculation
    drafts = _DRAFTS * told.steps * told.draft_tokens if told is not None else 0
    needed = inputs.context_length + drafts + _MARGIN
    return max(_ROWS, -(-needed // _STEP) * _STEP)
