# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A round: what each GPU told, though others hang. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Callable

from .conversation import Conversation, Heard, Request
from .files import Unread


@dataclass(frozen=True)
class Round:
    """`first`: the conversation about all GPUs; `facts` of each GPU that told any; `broken`: the one that ended in the middle of each other GPU."""

    first: Heard
    facts: dict[int, dict[str, Any]]
    broken: dict[int, Heard]

    @property
    def unread(self) -> list[Unread]:
        return [
            Unread(f"{note['what']} of GPU {index}", note["why"])
            for index, facts in self.facts.items()
            for note in facts.get("silent", ())
        ]


def hear_round(start: Callable[[Request], Conversation], request: Request, timeout_seconds: float) -> Round:
    """One conversation for all; after its silence the GPU in question is left alone, and each not yet told of gets a conversation of its own."""
    first = start(request).hear()
    facts, broken = dict(first.gpus), {}
    missing = [index for index in range(first.count) if index not in facts]
    if missing and (first.silent_seconds is None or first.silent_seconds >= timeout_seconds):
        broken[missing.pop(0)] = first
    # All at once, so that the whole takes as long as the slowest and several hung GPUs cost no more than one.
    started = {index: start(replace(request, only=[index], rows=False)) for index in missing}
    for index, conversation in started.items():
        heard = conversation.hear()
        if index in heard.gpus:
            facts[index] = heard.gpus[index]
        else:
            broken[index] = heard
    return Round(first, facts, broken)
