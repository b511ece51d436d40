# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal of one invocation of a unit. Private to the collection, may change any time.

A line that holds a control character, such as the carriage returns of a progress bar, comes from `journalctl --output json` as a list of bytes.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Callable

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import ObservationError

DEADLINE_SECONDS = 60


@dataclass(frozen=True)
class Entry:
    """One message; `realtime` is when journald received it, in microseconds since 1970."""

    message: str
    realtime: int
    cursor: str


def read_entries(
    invocation_id: str,
    after: str | None = None,
    most: int = 20000,
    enough: Callable[[Entry], bool] = lambda entry: False,
) -> tuple[Entry, ...]:
    """The oldest entries of an invocation, `after` a cursor, up to the `most` or the first that is `enough`.

    A server that has run for months has millions of entries: its start is at their beginning, and reading on would take minutes.
    """
    position = ["--after-cursor", after] if after else []
    return _run(_command(invocation_id, position), most, enough)


def last_entries(invocation_id: str, most: int) -> tuple[Entry, ...]:
    """The newest entries of an invocation, oldest first."""
    return _run(_command(invocation_id, ["--lines", str(most)]), most, lambda entry: False)


def _command(invocation_id: str, options: Sequence[str]) -> list[str]:
    """What the unit's processes said (_SYSTEMD_INVOCATION_ID), and what systemd said of it (INVOCATION_ID). --all: long fields are null without it."""
    matches = [f"_SYSTEMD_INVOCATION_ID={invocation_id}", "+", f"INVOCATION_ID={invocation_id}"]
    return [
        "journalctl",
        "--no-pager",
        "--quiet",
        "--all",
        "--output",
        "json",
        "--output-fields",
        "MESSAGE",
        *options,
        *matches,
    ]


def _run(command: Sequence[str], most: int, enough: Callable[[Entry], bool]) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    try:
        # run_command waits for the end, and a journal of months has none that is worth waiting for.
        child = subprocess.Popen(  # pylint: disable=ansible-bad-function
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    except OSError as error:
        raise ObservationError(
            f"journalctl could not be run: {error.strerror}. A host with systemd's journal was expected."
        ) from error
    deadline = threading.Timer(DEADLINE_SECONDS, child.kill)
    deadline.start()
    complete = True
    try:
        out, err = child.stdout, child.stderr
        for line in out or ():
            entries.append(_entry(line))
            if len(entries) >= most or enough(entries[-1]):
                complete = False
                break
        if not complete:
            child.kill()
        message = (err.read() if err else b"").decode("utf-8", "replace").strip()
        status = child.wait()
    finally:
        deadline.cancel()
        for stream in (child.stdout, child.stderr):
            if stream:
                stream.close()
    if complete and status != 0:
        stop = "" if message.endswith(".") else "."
        raise ObservationError(
            f"journalctl ended with status {status}: {message or 'no message'}{stop} "
            "The unit's journal was expected; run this as root or as a member of the group systemd-journal."
        )
    return tuple(entries)


def _entry(line: bytes) -> Entry:
    fields = json.loads(line)
    return Entry(_text(fields.get("MESSAGE")), int(fields.get("__REALTIME_TIMESTAMP", 0)), fields.get("__CURSOR", ""))


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        if all(isinstance(item, int) for item in value):
            return bytes(value).decode("utf-8", "replace")
        return "\n".join(_text(item) for item in value)
    return str(value)
