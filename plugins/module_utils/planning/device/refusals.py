# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands against a GPU budget, and against the cards that a request asks for. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable

from ...core.errors import Refusal
from ...core.units import gib_text
from ..request.host import GpuState
from ..request.request import VARIABLE, PlanRequest, visible_cards
from .gpu_budget import GpuBudget, GpuCase, chosen_budget, gpu_case, highest_fraction, needed_headroom_bytes


def _visible_devices(request: PlanRequest) -> Refusal | None:
    """Only where there are cards: of a host that shows none, that is what has to be said."""
    if request.serving.device != "cuda" or not request.host.gpus:
        return None
    return visible_cards(request.host.gpus, request.environment)[1]


def _gpu_count(request: PlanRequest) -> Refusal | None:
    ranks, cards = request.ranks, request.host.gpus
    if request.serving.device != "cuda" or len(request.gpus) == ranks or _visible_devices(request) is not None:
        return None
    what = (
        "serving.tp"
        if request.serving.pp == 1
        else f"serving.tp x serving.pp ({request.serving.tp} x {request.serving.pp})"
    )
    asks = f"{what} is {ranks} and asks for {ranks} usable GPU{'s' if ranks > 1 else ''}"
    error = (request.host.driver_error or "").rstrip(". ")
    if not cards:
        return Refusal(
            "gpu_count",
            f"{asks}; this host shows none{f' ({error})' if error else ''}. Install the driver and look at topology_facts, or set serving.device to cpu.",
        )
    broken = "".join(
        f"; GPU {gpu.index} ({gpu.uuid or 'uuid unknown'}) is in state {gpu.state}" for gpu in cards if not gpu.usable
    )
    usable = sum(gpu.usable for gpu in cards)
    advice = "Bring the missing ones back or lower tp" if broken else "Lower tp or add cards"
    if usable >= ranks:
        visible = f"{VARIABLE} in the environment, " if VARIABLE in request.environment else ""
        advice = f"{visible}base-gpu-id and gpu-id-step in arguments lead to {len(request.gpus)} of them: remove those or lower tp"
    return Refusal("gpu_count", f"{asks}; this host has {len(cards)}, of which {usable} can be used{broken}. {advice}.")


def _gpu_balance(request: PlanRequest) -> Refusal | None:
    """Since 0.5.9 SGLang ends the start when the poorest card has less than 0.9 of what another has free."""
    free = [(gpu.free_bytes, gpu) for gpu in request.gpus if gpu.free_bytes is not None]
    if request.serving.device != "cuda" or len(free) < 2:
        return None
    limiting, richest = (choose(free, key=lambda pair: (pair[0], -pair[1].index)) for choose in (min, max))
    if limiting[0] >= 0.9 * richest[0]:
        return None
    return Refusal(
        "gpu_balance",
        f"GPU {limiting[1].index} has {gib_text(limiting[0])} free and GPU {richest[1].index} has {gib_text(richest[0])}; "
        f"the engine ends its start when a card has less than 90 % of another. {_unbalanced(limiting[1], richest[1])}",
    )


def _unbalanced(limiting: GpuState, richest: GpuState) -> str:
    if limiting.total_bytes < 0.9 * richest.total_bytes:
        return f"They are of different sizes: name cards of one size in {VARIABLE}."
    return "Find who holds that card and release it."


CARD_CHECKS: tuple[Callable[[PlanRequest], Refusal | None], ...] = (_visible_devices, _gpu_count, _gpu_balance)

# Wishes that can leave no pool where there is memory for one.
_LIMITS = (
    "max_total_tokens",
    "page_size",
    "max_running_requests",
    "max_mamba_cache_size",
    "mamba_full_memory_ratio",
    "swa_full_tokens_ratio",
)


def gpu_refusals(case: GpuCase, gpu: GpuBudget) -> list[Refusal]:
    """No pool at all, or one that leaves less than a prefill needs."""
    if gpu.tokens == 0:
        return [_no_pool(case, gpu)]
    needed = needed_headroom_bytes(case.request, gpu)
    return [] if gpu.headroom_bytes >= needed else [_headroom(case, gpu, needed)]


def _no_pool(case: GpuCase, gpu: GpuBudget) -> Refusal:
    limited = _limited(case.request)
    if limited is not None:
        return Refusal("gpu_memory", limited)
    highest = highest_fraction(case)
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


def _limited(request: PlanRequest) -> str | None:
    """What to say where it is a wish, not the memory, that leaves the engine without a pool to start with."""
    serving, tokens, limits = request.serving, 0, []
    for key in _LIMITS:
        value = getattr(serving, key)
        if value is not None:
            dropped: dict[str, Any] = {key: None}
            bare = chosen_budget(gpu_case(replace(request, serving=replace(serving, **dropped)), serving.cached))
            limits += [f"{key} is {value}"] if bare.tokens else []
            tokens = max(tokens, bare.tokens)
    if not limits:
        return None
    engine = f"SGLang {request.rules.engine_version}"
    groups = f" in {serving.dp} groups" if serving.dp > 1 else ""
    without, most, change = ("either", "up to ", "one of them") if len(limits) > 1 else ("it", "", "it")
    return (
        f"serving.{' and serving.'.join(limits)}, with which {engine} does not start{groups}; without {without} the pool would hold "
        f"{most}{tokens:,} tokens. Change {change}, or leave it out."
    )


def _headroom(case: GpuCase, gpu: GpuBudget, needed_bytes: int) -> Refusal:
    highest = highest_fraction(case)
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
    left = (
        f"leaves {gib_text(gpu.headroom_bytes)} free on each card after graph capture"
        if gpu.headroom_bytes >= 0
        else f"asks for {gib_text(-gpu.headroom_bytes)} more than each card has, graphs included"
    )
    return Refusal(
        "headroom",
        f"mem_fraction_static {gpu.fraction:g} {left}; "
        f"the first large prefill needs room, and {gib_text(needed_bytes)} {why}. {advice}",
    )
