# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of a Proxmox VE host, each with an end. Private to the collection, may change any time.

`AnsibleModule.run_command` waits for ever. A command here may hang in the kernel together with the GPU, or ask a daemon that does.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Callable

_KILLED_SECONDS = 2.0


@dataclass(frozen=True)
class Ran:
    """What a command did; `status` None: it had not ended in time, and was left behind where KILL did not end it."""

    status: int | None
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        return self.status == 0

    @property
    def complaint(self) -> str:
        """Its last word, for a sentence."""
        if self.status is None:
            return "did not end in time"
        lines = (self.stderr.strip() or self.stdout.strip()).splitlines()
        return f'ended with {self.status} and said "{lines[-1].strip()}"' if lines else f"ended with {self.status}"


Run = Callable[[Sequence[str], float], Ran]
"""Runs a command for at most so many seconds."""


def run_for(command: Sequence[str], seconds: float) -> Ran:
    """Output goes to files: with pipes, a grandchild that lives on would be waited for too."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        try:
            process = subprocess.Popen(  # pylint: disable=ansible-bad-function
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=error,
                env={**os.environ, "LC_ALL": "C"},
                start_new_session=True,
            )
        except OSError as refusal:
            return Ran(127, "", f"{command[0]}: {refusal.strerror}")  # as a shell says it
        status = _wait(process, seconds)
        if status is None:
            os.killpg(process.pid, signal.SIGKILL)
            _wait(process, _KILLED_SECONDS)
        return Ran(status, _text(out), _text(error))


def _wait(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")
