# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Log lines on stderr, as SGLang writes them: `[2026-02-24 10:11:12 TP0] text`."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from sglang.double.dialect import Dialect


class Journal:
    """The log of one process; `rank` is "" in the main process and with a single rank, else " TP<n>"."""

    def __init__(self, dialect: Dialect, rank: str = "") -> None:
        self._lines = dialect.lines
        self._rank = rank

    def say(self, milestone: str, **figures: Any) -> None:
        """Log a milestone of the dialect; one that this version does not have is not said."""
        template = self._lines[milestone]
        if template:
            self.text(template.format(**figures))

    def text(self, text: str) -> None:
        self.raw(f"[{time.strftime('%Y-%m-%d %H:%M:%S')}{self._rank}] {text}\n")

    @staticmethod
    def raw(text: str) -> None:
        """One write, so that lines of several ranks do not mix, and none that a signal's own line would find half done."""
        os.write(sys.stderr.fileno(), text.encode())


def progress(label: str, done: int, total: int, elapsed: float, end: str) -> str:
    """One update of tqdm's bar in SGLang's format; it begins with a carriage return and ends as `end` of the version."""
    rate = done / elapsed if done and elapsed else 0.0
    speed = "?it/s" if not rate else f"{rate:.2f}it/s" if rate >= 1 else f"{1 / rate:.2f}s/it"
    remaining = _clock((total - done) / rate) if rate else "?"
    return f"\r{label}: {done / total * 100:3.0f}% Completed | {done}/{total} [{_clock(elapsed)}<{remaining}, {speed.rjust(5)}]{end}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"
