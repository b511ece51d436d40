# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A conversation with the program that talks to NVML, which may fall silent for ever. Private to the collection, may change any time."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from . import nvml_child
from .speaker import Speaker


@dataclass(frozen=True)
class Request:
    """What the program is asked for: which GPUs (None: all), their own facts (only who uses them, if `use`), their rows of the interconnect."""

    library: str | None
    only: list[int] | None = None
    gpus: bool = True
    rows: bool = True
    use: bool = False

    def as_json(self) -> str:
        return json.dumps(asdict(self))


@dataclass
class Heard:
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


class Conversation(Speaker):
    """One process of `nvml_child`."""

    def __init__(self, request: Request, timeout_seconds: float) -> None:
        super().__init__(nvml_child.__name__, request.as_json(), timeout_seconds)

    def hear(self, total_seconds: float | None = None) -> Heard:
        """Listens to the end, until an answer takes longer than the timeout, or until `total_seconds` after the start (default: twice the timeout)."""
        heard = Heard()
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
