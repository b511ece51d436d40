# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CUDA graphs: the largest batch and what capturing takes. Private to the collection, may change any time."""

from __future__ import annotations

from ...core.ledger import Line
from ...core.sizing_rules import GpuBracket, SizingRules
from ...core.units import MIB
from ..calibration import Calibration

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
    """The batches that are captured for decoding, up to `largest`. SGLang 0.5.5 to 0.5.23; 512 without speculation: 52 of them.

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
    """The lengths that are captured for prefill, up to `tokens`. SGLang 0.5.9 to 0.5.23; 8,192: 58 of them."""
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
