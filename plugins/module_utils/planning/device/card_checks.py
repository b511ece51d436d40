# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the host has the cards that a request asks for. Private to the collection, may change any time."""

from __future__ import annotations

from typing import Callable

from ...core.units import gib_text
from ..host.host_seen import GpuSeen
from ..refusal import Refusal
from ..request import PlanRequest
from .visible_cards import VARIABLE, visible_cards


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
    """SGLang 0.5.9 to 0.5.23 ends the start when the poorest card has less than 0.9 of what another has free."""
    free = [(gpu.free_bytes, gpu) for gpu in request.gpus if gpu.free_bytes is not None]
    if request.serving.device != "cuda" or len(free) < 2:
        return None
    poorest, richest = (choose(free, key=lambda pair: (pair[0], -pair[1].index)) for choose in (min, max))
    if poorest[0] >= 0.9 * richest[0]:
        return None
    return Refusal(
        "gpu_balance",
        f"GPU {poorest[1].index} has {gib_text(poorest[0])} free and GPU {richest[1].index} has {gib_text(richest[0])}; the engine ends its start when a card "
        f"has less than 90 % of another. {_unbalanced(poorest[1], richest[1])}",
    )


def _unbalanced(poorest: GpuSeen, richest: GpuSeen) -> str:
    if poorest.total_bytes < 0.9 * richest.total_bytes:
        return f"They are of different sizes: name cards of one size in {VARIABLE}."
    return "Find who holds that card and release it."


CARD_CHECKS: tuple[Callable[[PlanRequest], Refusal | None], ...] = (_visible_devices, _gpu_count, _gpu_balance)
