# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal, of one invocation of a unit or as asked. Private to the collection, may change any time.

A line that holds a control character, such as the carriage returns of a progress bar, comes from `journalctl --output json` as a list of bytes.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Callable

from ..core.errors import ObservationError

DEADLINE_SECONDS = 60
UNIT_JOURNAL = "The unit's journal was expected; run this as root or as a member of the group systemd-journal."


class JournalRefused(ObservationError):
    """journalctl ended badly: its exit status and what it said."""

    def __init__(self, message: str, status: int, text: str) -> None:
        super().__init__(message)
        self.status = status
        self.text = text


def _never(entry: Entry) -> bool:
    return False


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
    enough: Callable[[Entry], bool] = _never,
) -> tuple[Entry, ...]:
    """The oldest entries of an invocation, `after` a cursor, up to the `most` or the first that is `enough`.

    A server that has run for months has millions of entries: its start is at their beginning, and reading on would take minutes.
    """
    position = ["--after-cursor", after] if after else []
    return read_journal([*position, *_matches(invocation_id)], most, UNIT_JOURNAL, enough)


def last_entries(invocation_id: str, most: int) -> tuple[Entry, ...]:
    """The newest entries of an invocation, oldest first."""
    return read_journal(["--lines", str(most), *_matches(invocation_id)], most, UNIT_JOURNAL)


def _matches(invocation_id: str) -> list[str]:
    """What the unit's processes said (_SYSTEMD_INVOCATION_ID), and what systemd said of it (INVOCATION_ID)."""
    return [f"_SYSTEMD_INVOCATION_ID={invocation_id}", "+", f"INVOCATION_ID={invocation_id}"]


def read_journal(
    options: Sequence[str], most: int, expected: str, enough: Callable[[Entry], bool] = _never
) -> tuple[Entry, ...]:
    """Entries in the order in which journalctl gives them, up to the `most` or the first that is `enough`. --all: long fields are null without it.

    Raises JournalRefused, whose text ends in `expected`, and ObservationError where there is no journalctl.
    """
    command = [
        "journalctl",
        "--no-pager",
        "--quiet",
        "--all",
        "--output",
        "json",
        "--output-fields",
        "MESSAGE",
        *options,
    ]
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
        raise JournalRefused(
            f"journalctl ended with status {status}: {message or 'no message'}{stop} {expected}", status, message
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
