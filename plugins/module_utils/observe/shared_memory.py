# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared memory below /dev/shm, and whether a process still has it. Private to the collection, may change any time."""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

DIRECTORY = "/dev/shm"

HANDED_OVER_SECONDS = 600.0
"""The engine's tokenizer fills a segment, closes it and sends its name to the scheduler, which opens it when it gets to that request: until then nobody
has it, and it is wanted."""


@dataclass(frozen=True)
class Segment:
    """One file of shared memory. `modified`: seconds since 1970. `referenced`: some process has it open or mapped, or may be
    about to, or nobody could be sure.
    """

    path: str
    size_bytes: int
    uid: int
    inode: int
    modified: float
    referenced: bool = True


def read_segments(directory: str = DIRECTORY) -> tuple[Segment, ...]:
    """All that is there, taken as referenced: processes have to be asked after this, not before."""
    return tuple(_segments(Path(directory)))


def device_of(directory: str = DIRECTORY) -> tuple[int, int] | None:
    """Number of the file system that holds the segments."""
    try:
        found = os.stat(directory).st_dev
    except OSError:
        return None
    return os.major(found), os.minor(found)


def marked(
    segments: tuple[Segment, ...], referenced: Container[int], users: Container[int], now: float
) -> tuple[Segment, ...]:
    """With what was learnt: the inodes that some process has, and the users that have a process at all; `now` is in seconds since 1970."""

    def wanted(item: Segment) -> bool:
        return item.inode in referenced or (item.uid in users and item.modified > now - HANDED_OVER_SECONDS)

    return tuple(replace(item, referenced=wanted(item)) for item in segments)


def _segments(directory: Path) -> Iterator[Segment]:
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return
    for name in names:
        path = directory / name
        try:
            found = path.lstat()
        except OSError:
            continue
        if stat.S_ISREG(found.st_mode):
            yield Segment(str(path), found.st_size, found.st_uid, found.st_ino, found.st_mtime)
