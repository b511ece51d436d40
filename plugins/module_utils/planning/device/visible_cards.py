# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which cards the process will see. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..host.host_seen import GpuSeen
from ..refusal import Refusal

VARIABLE = "CUDA_VISIBLE_DEVICES"


def visible_cards(
    cards: Sequence[GpuSeen], environment: Mapping[str, Any]
) -> tuple[tuple[GpuSeen, ...], Refusal | None]:
    """The usable cards in the order of CUDA_VISIBLE_DEVICES, which counts usable cards from 0, or names them by the beginning of their UUID.

    CUDA itself takes a list up to its first wrong entry and says nothing; here a wrong entry is refused.
    """
    usable = tuple(card for card in cards if card.usable)
    given = environment.get(VARIABLE)
    if given is None:
        return usable, None
    found: list[GpuSeen] = []
    for word in (word.strip() for word in str(given).split(",")):
        matching = _named(usable, word)
        if len(matching) != 1 or matching[0] in found:
            return (), _refusal(str(given), word, usable)
        found += matching
    return tuple(found), None


def _named(usable: Sequence[GpuSeen], word: str) -> list[GpuSeen]:
    if word.isdecimal():
        return list(usable[int(word) : int(word) + 1])
    return [card for card in usable if word.startswith("GPU-") and card.uuid.startswith(word)]


def _refusal(given: str, word: str, usable: Sequence[GpuSeen]) -> Refusal:
    there = f"0 to {len(usable) - 1}" if len(usable) > 1 else "0 alone" if usable else "none"
    return Refusal(
        "visible_devices",
        f"{VARIABLE} in the environment is '{given}', where '{word}' names no usable GPU, or one that is named already; "
        f"the usable ones are {there}, or by UUID. Correct it, or leave it out and choose GPUs with base-gpu-id and gpu-id-step in arguments.",
    )
