# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The largest piece of a prompt that is computed at once. Private to the collection, may change any time."""

from __future__ import annotations

from ..request import PlanRequest
from .graphs import bracket_of

MAX_PREFILL_TOKENS = 16_384  # --max-prefill-tokens unasked, 0.5.5 to 0.5.23


def prefill_chunk(request: PlanRequest) -> int | None:
    """chunked_prefill_size as it takes effect, -1 where chunking is off; None on a CPU, where the engine decides."""
    asked = request.serving.chunked_prefill_size
    if asked is not None or request.serving.device == "cpu":
        return asked
    return bracket_of(request.rules, request.gpus[0].total_bytes).chunked_prefill_size


def chunk_tokens(request: PlanRequest) -> int:
    """Tokens of that piece; without chunking what --max-prefill-tokens lets in."""
    chunk = prefill_chunk(request)
    return chunk if chunk is not None and chunk > 0 else request.serving.max_prefill_tokens or MAX_PREFILL_TOKENS
