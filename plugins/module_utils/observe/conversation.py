# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A conversation with the program that talks to NVML, which may fall silent for ever. Private to the collection, may change any time."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.blackwell.inference.plugins.module_utils.observe import nvml_child

# A process that can be killed is gone by then; one that sleeps in the driver is left to the kernel.
_GRACE_SECONDS = 0.5
_PIPE_BYTES = 65536


@dataclass(frozen=True)
class Request:
    """What the program is asked for: which GPUs (None: all), their own facts, their rows of the interconnect."""

    library: str | None
    only: list[int] | None = None
    gpus: bool = True
    rows: bool = True

    def as_json(self) -> str:
        return json.dumps({"library": self.library, "only": self.only, "gpus": self.gpus, "rows": self.rows})


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


class Conversation:
    """One process of `nvml_child`. It keeps nothing of ours open, so that nobody waits for it when it cannot be killed."""

    def __init__(self, request: Request, timeout_seconds: float) -> None:
        self.timeout_seconds = timeout_seconds
        self.started = time.monotonic()
        self.silent_seconds: float | None = None
        # run_command waits for an end that may never come.
        self.process = subprocess.Popen(  # pylint: disable=ansible-bad-function
            [sys.executable, "-m", nvml_child.__name__, request.as_json()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            start_new_session=True,
        )

    def hear(self, total_seconds: float | None = None) -> Heard:
        """Listens to the end, until an answer takes longer than the timeout, or until `total_seconds` after the start (default: twice the timeout)."""
        heard = Heard()
        end = self.started + (2 * self.timeout_seconds if total_seconds is None else total_seconds)
        for message in self._messages(end):
            heard.take(message)
        heard.silent_seconds = self.silent_seconds
        if (
            heard.silent_seconds is None
            and not (heard.done or heard.ended or heard.unloadable)
            and heard.refused is None
        ):
            heard.ended = self._ending()
        self._leave()
        return heard

    def _messages(self, end: float) -> Iterator[dict[str, Any]]:
        """Messages until the output ends or a deadline passes. The word of a call about to be made is no answer yet."""
        output = self.process.stdout
        if output is None:
            return
        rest = b""
        answered = self.started
        late_reads = 2  # whoever is heard late may have said all in time: what lies in the pipe, and its end
        while True:
            left = min(answered + self.timeout_seconds, end) - time.monotonic()
            late_reads -= left <= 0
            if late_reads < 0 or not select.select([output], [], [], max(left, 0))[0]:
                self.silent_seconds = time.monotonic() - answered
                return
            read = os.read(output.fileno(), _PIPE_BYTES)
            if not read:
                return
            *lines, rest = (rest + read).split(b"\n")
            for line in lines:
                message = json.loads(line)
                if "asking" not in message:
                    answered = time.monotonic()
                yield message

    def _ending(self) -> str:
        try:
            code = self.process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            return "closed its output and went on"
        return f"was ended by signal {-code}" if code < 0 else f"ended with exit status {code}"

    def _leave(self) -> None:
        """Kills the process and does not wait for it: in uninterruptible sleep it never ends."""
        if self.process.stdout is not None:
            self.process.stdout.close()
        if self.process.poll() is None:
            self.process.kill()
            try:
                self.process.wait(_GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                return
