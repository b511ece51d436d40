# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much memory this process may lock. Private to the collection, may change any time."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .files import HostFiles

_LINE = re.compile(r"^Max locked memory\s+(\w+)\s+(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Memlock:
    """None: unlimited. A unit sets its own limit; the hard one of a container bounds even that."""

    soft_bytes: int | None
    hard_bytes: int | None


def memlock_words(limits: str) -> tuple[str, str] | tuple[None, None]:
    """Soft and hard limit as the `limits` of a process in /proc word them: a number of bytes or "unlimited"."""
    found = _LINE.search(limits)
    return (found[1], found[2]) if found else (None, None)


def read_memlock(files: HostFiles) -> Memlock:
    soft, hard = memlock_words(files.text("/proc/self/limits") or "")
    if soft is None or hard is None:
        files.note("memlock", "/proc/self/limits has no line 'Max locked memory'")
        return Memlock(None, None)
    return Memlock(_bytes(soft), _bytes(hard))


def _bytes(word: str) -> int | None:
    return None if word == "unlimited" else int(word)
