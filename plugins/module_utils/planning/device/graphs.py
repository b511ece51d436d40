# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CUDA graphs, and what a prefill chunk needs beside all pools. Private to the collection, may change any time."""

from __future__ import annotations

from ...core.ledger import Line
from ...core.units import MIB
from ...model.attention import MlaGeometry
from ...sglang.sizing_rules import GpuBracket, SizingRules
from ..request.calibration import Calibration
from ..request.request import PlanRequest

# A chunk of 8,192 tokens of Kimi-K2.5 (hidden size 7,168) ran out of memory with 0.82 GiB left (design host, 2026-02-24): more than seven rows
# of the hidden size in bfloat16 for each token.
_ROWS = 8
_ACTIVATION_BYTES = 2
_LOGIT_BYTES = 4
# The indexer of sparse attention scores a chunk against the whole context in float32: 16,384 tokens at about 61,000 asked for 3.77 GiB
# (caiovicentino/glm-5.3-flash-sglang-4x-rtx-pro-6000, docs/memory-model.md, 2026-09-04). It takes at most half of what is free and goes in
# pieces beyond that (since 0.5.9, _should_chunk_mqa_logits), so that twice the rest is always enough.


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


# The design host captured 3.75 GiB for batches up to 512 (Kimi-K2.5, 8 ranks, 2026-02-24): 7.5 MiB a request of the largest
# batch. The size of a graph cannot be read from the engine's source.
_REQUEST_BYTES = 15 * MIB // 2


def bracket_of(rules: SizingRules, gpu_total_bytes: int) -> GpuBracket:
    """The engine's defaults for a card, by nvidia-smi's memory.total."""
    return next(bracket for bracket in rules.gpu_brackets if gpu_total_bytes // MIB < bracket.below_mib)


def largest_batch(
    bracket: GpuBracket, tp: int, asked: int | None, requests_asked: int | None, requests: int, rules: SizingRules
) -> int:
    """The largest batch that is captured for decoding: never more than may run."""
    default = bracket.graph_batch_from_tp4 if tp >= 4 else bracket.graph_batch
    if rules.graph_batch_follows_running_requests and requests_asked is not None:
        default = min(default, requests_asked)
    return min(default if asked is None else asked, requests)


def decode_batches(largest: int, speculative: bool, rules: SizingRules) -> tuple[int, ...]:
    """The batches that are captured for decoding, up to `largest`. SGLang since 0.5.5; 512 without speculation: 52 of them.

    Since 0.5.10 `largest` itself is among them in any case.
    """
    if speculative:
        sizes = [*range(1, 9), *range(10, 33, 2), *range(40, 65, 4), *range(72, 257, 8), *range(272, largest + 1, 16)]
    else:
        sizes = [1, 2, 4, 8, 12, *range(16, 257, 8), *range(272, 512, 16), *range(512, largest + 1, 32)]
    captured = [size for size in sizes if size <= largest]
    if rules.decode_batch_appended and largest > 0 and largest not in captured:
        captured.append(largest)
    return tuple(captured)


def prefill_sizes(tokens: int) -> tuple[int, ...]:
    """The lengths that are captured for prefill, up to `tokens`. SGLang since 0.5.9; 8,192: 58 of them."""
    steps = ((4, 33, 4), (48, 257, 16), (288, 513, 32), (576, 1025, 64), (1280, 4097, 256), (4608, tokens + 1, 512))
    return tuple(size for step in steps for size in range(*step) if size <= tokens)


def graph_lines(batch: int, prefill_bytes: int, calibration: Calibration, ranks: int) -> tuple[Line, ...]:
    """A measured figure holds all graphs; an estimate is made of the decode graphs (`batch` 0: none) and an allowance for a prefill graph."""
    lines = []
    measured = calibration.graph_bytes if calibration.ranks in (None, ranks) else None
    of_batch = calibration.graph_batch
    if measured is not None and batch and of_batch and of_batch != batch:
        share = f"estimate: in proportion to what {of_batch} requests took, {calibration.source}"
        lines.append(Line("CUDA graphs", measured * batch // of_batch, share))
    elif measured is not None and (batch or prefill_bytes):
        lines.append(Line("CUDA graphs", measured, calibration.source))
    elif batch:
        decode = f"estimate: 7.5 MiB for each of {batch} requests, as on the design host"
        lines.append(Line("CUDA graphs", batch * _REQUEST_BYTES, decode))
    if prefill_bytes and (measured is None or not calibration.prefill_graph):
        lines.append(Line("prefill graph", prefill_bytes, "estimate: the engine's own allowance"))
    return tuple(lines)


MAX_PREFILL_TOKENS = 16_384  # --max-prefill-tokens unasked, since 0.5.5


def prefill_chunk(request: PlanRequest) -> int | None:
    """chunked_prefill_size as it takes effect, -1 where chunking is off; None on a CPU, where the engine decides, and without a card."""
    asked = request.serving.chunked_prefill_size
    if asked is not None or request.serving.device == "cpu" or not request.gpus:
        return asked
    return bracket_of(request.rules, request.gpus[0].total_bytes).chunked_prefill_size


def chunk_tokens(request: PlanRequest) -> int:
    """Tokens of that piece; without chunking what --max-prefill-tokens lets in."""
    chunk = prefill_chunk(request)
    return chunk if chunk is not None and chunk > 0 else request.serving.max_prefill_tokens or MAX_PREFILL_TOKENS
