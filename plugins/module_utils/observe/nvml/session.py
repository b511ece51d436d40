# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A session with the program that talks to NVML, which may fall silent for ever, and a poll of all GPUs. Private to the collection, may change any time."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Callable

from ..child_process import JsonLinesChild
from ..files import Unread
from . import child


@dataclass(frozen=True)
class NvmlRequest:
    """What the program is asked for: which GPUs (None: all), their own facts (only who uses them, if `use`), their rows of the interconnect."""

    library: str | None
    only: list[int] | None = None
    gpus: bool = True
    rows: bool = True
    use: bool = False

    def as_json(self) -> str:
        return json.dumps(asdict(self))


@dataclass
class NvmlReply:
    """What was said until the end, or until silence: then `done` is False and `asking` is the call that did not return.

    `refused`: NVML's number when it did not start; `ended`: how the process ended too early; `silent_seconds`: how long it said nothing.
    """

    driver: dict[str, Any] | None = None
    count: int = 0
    gpus: dict[int, dict[str, Any]] = field(default_factory=dict)
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    asking: str | None = None
    done: bool = False
    refused: int | None = None
    nvml_version: str | None = None
    unloadable: str | None = None
    ended: str | None = None
    silent_seconds: float | None = None

    def take(self, message: dict[str, Any]) -> None:
        for part in ("gpu", "row"):
            if part in message:
                getattr(self, f"{part}s")[message[part]["index"]] = message[part]
        if "broke" in message:
            self.ended = f"failed with {message['broke']}"
        for name in ("driver", "count", "asking", "done", "refused", "nvml_version", "unloadable"):
            if name in message:
                setattr(self, name, message[name])


class NvmlSession(JsonLinesChild):
    """One process of `observe.nvml.child`."""

    def __init__(self, request: NvmlRequest, timeout_seconds: float) -> None:
        super().__init__(child.__name__, request.as_json(), timeout_seconds)

    def hear(self, total_seconds: float | None = None) -> NvmlReply:
        """Listens to the end, until an answer takes longer than the timeout, or until `total_seconds` after the start (default: twice the timeout)."""
        heard = NvmlReply()
        for message in self.messages(2 * self.timeout_seconds if total_seconds is None else total_seconds):
            heard.take(message)
        heard.silent_seconds = self.silent_seconds
        if (
            heard.silent_seconds is None
            and not (heard.done or heard.ended or heard.unloadable)
            and heard.refused is None
        ):
            heard.ended = self.ending()
        self.leave()
        return heard


@dataclass(frozen=True)
class GpuPoll:
    """`first`: the conversation about all GPUs; `facts` of each GPU that told any; `broken`: the one that ended in the middle of each other GPU."""

    first: NvmlReply
    facts: dict[int, dict[str, Any]]
    broken: dict[int, NvmlReply]

    @property
    def unread(self) -> list[Unread]:
        return [
            Unread(f"{note['what']} of GPU {index}", note["why"])
            for index, facts in self.facts.items()
            for note in facts.get("silent", ())
        ]


def hear_round(start: Callable[[NvmlRequest], NvmlSession], request: NvmlRequest, timeout_seconds: float) -> GpuPoll:
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
    return GpuPoll(first, facts, broken)
