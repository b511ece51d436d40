# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A program of ours that speaks JSON lines and may fall silent for ever. Private to the collection, may change any time."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

# A process that can be killed is gone by then; one that sleeps in the kernel is left to it.
_GRACE_SECONDS = 0.5
_PIPE_BYTES = 65536


class JsonLinesChild:
    """One process of `program`, a module that takes `request` as its only argument. It keeps nothing of ours open, so that nobody waits for
    it when it cannot be killed."""

    def __init__(self, program: str, request: str, timeout_seconds: float) -> None:
        self.timeout_seconds = timeout_seconds
        self.started = time.monotonic()
        self.silent_seconds: float | None = None
        # run_command waits for an end that may never come.
        self.process = subprocess.Popen(  # pylint: disable=ansible-bad-function
            [sys.executable, "-m", program, request],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            start_new_session=True,
        )

    def messages(self, total_seconds: float) -> Iterator[dict[str, Any]]:
        """Messages until the output ends, or until a deadline passes: then `silent_seconds` says how long nothing was answered.

        A message that says only what is `asking` is no answer yet.
        """
        output = self.process.stdout
        if output is None:
            return
        rest = b""
        answered = self.started
        late_reads = 2  # whoever is heard late may have said all in time: what lies in the pipe, and its end
        while True:
            left = min(answered + self.timeout_seconds, self.started + total_seconds) - time.monotonic()
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

    def ending(self) -> str:
        """How it ended, of one that has closed its output."""
        try:
            code = self.process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            return "closed its output and went on"
        return f"was ended by signal {-code}" if code < 0 else f"ended with exit status {code}"

    def leave(self) -> None:
        """Kills the process and does not wait for it: in uninterruptible sleep it never ends."""
        if self.process.stdout is not None:
            self.process.stdout.close()
        if self.process.poll() is None:
            self.process.kill()
            try:
                self.process.wait(_GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                return
