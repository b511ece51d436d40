# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a prefill chunk needs on a card beside all pools. Private to the collection, may change any time."""

from __future__ import annotations

from ...core.ledger import Line
from ..model.attention import MlaGeometry
from ..request import PlanRequest

# A chunk of 8,192 tokens of Kimi-K2.5 (hidden size 7,168) ran out of memory with 0.82 GiB left (design host, 2026-02-24): more than seven rows
# of the hidden size in bfloat16 for each token.
_ROWS = 8
_ACTIVATION_BYTES = 2
_LOGIT_BYTES = 4
# The indexer of sparse attention scores a chunk against the whole context in float32: 16,384 tokens at about 61,000 asked for 3.77 GiB
# (caiovicentino/glm-5.3-flash-sglang-4x-rtx-pro-6000, docs/memory-model.md, 2026-09-04). It takes at most half of what is free and goes in
# pieces beyond that (0.5.9 to 0.5.23, _should_chunk_mqa_logits), so that twice the rest is always enough.


def activation_line(request: PlanRequest, chunk_tokens: int) -> Line:
    """Free memory that the first large prefill takes: measured, else the hidden rows of a chunk, and a sparse indexer's scores.

    `chunk_tokens` is chunked_prefill_size, or max_prefill_tokens where chunking is off. An estimate from below: the rest is what headroom is for.
    """
    measured = request.calibration.activation_bytes
    if measured is not None:
        return Line("activations of a prefill chunk", measured, request.calibration.source)
    size = _ROWS * chunk_tokens * request.model.hidden_size * _ACTIVATION_BYTES
    source = f"estimate: {_ROWS} rows of the hidden size for each of {chunk_tokens:,} tokens"
    attention = request.model.attention
    if isinstance(attention, MlaGeometry) and attention.index_head_dim is not None:
        size += min(size, chunk_tokens * request.context_length * _LOGIT_BYTES)
        source += ", and the indexer's scores against the whole context"
    return Line("activations of a prefill chunk", size, source)
