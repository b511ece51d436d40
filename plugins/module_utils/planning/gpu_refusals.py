# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands against a GPU budget. Private to the collection, may change any time."""

from __future__ import annotations

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import gib_text
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device_pool import (
    highest_fraction,
    needed_headroom_bytes,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.gpu_budget import GpuBudget
from ansible_collections.blackwell.inference.plugins.module_utils.planning.refusal import Refusal
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request import PlanRequest


def gpu_refusals(request: PlanRequest, gpu: GpuBudget) -> list[Refusal]:
    """No pool at all, or one that leaves less than a prefill needs."""
    if gpu.tokens == 0:
        return [_no_pool(request, gpu)]
    needed = needed_headroom_bytes(request, gpu)
    return [] if gpu.headroom_bytes >= needed else [_headroom(request, gpu, needed)]


def _no_pool(request: PlanRequest, gpu: GpuBudget) -> Refusal:
    highest = highest_fraction(request, request.serving.cached)
    if highest is not None:
        advice = (
            f"expected a higher fraction: raise mem_fraction_static, at most {highest:g} leaves room for a prefill."
        )
    elif gpu.weights_bytes < gpu.base_bytes:
        advice = "and no fraction leaves room for a pool and a prefill: raise tp, or choose a smaller checkpoint."
    else:
        advice = "expected weights that fit: raise tp, or choose a smaller checkpoint."
    return Refusal(
        "gpu_memory",
        f"The weights take {gib_text(gpu.weights_bytes)} of each card's {gib_text(gpu.base_bytes)}, "
        f"which leaves no KV cache at mem_fraction_static {gpu.fraction:g}; {advice}",
    )


def _headroom(request: PlanRequest, gpu: GpuBudget, needed_bytes: int) -> Refusal:
    highest = highest_fraction(request, request.serving.cached)
    advice = (
        f"At most {highest:g} leaves that: lower mem_fraction_static."
        if highest
        else "No fraction leaves that: lower context_length, max_running_requests or cuda_graph_max_bs."
    )
    why = (
        "are asked for (headroom_gib)"
        if needed_bytes > gpu.activations.size_bytes
        else f"are what a chunk of {gpu.chunk_tokens:,} tokens takes ({gpu.activations.source})"
    )
    return Refusal(
        "headroom",
        f"mem_fraction_static {gpu.fraction:g} leaves {gib_text(gpu.headroom_bytes)} free on each card after graph capture; "
        f"the first large prefill needs room, and {gib_text(needed_bytes)} {why}. {advice}",
    )
