# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The readers of the host's files, and of their `name value` lines. Private to the collection, may change any time.

For `HostFiles` an absent file is an answer (None); a file that is there and cannot be read goes into `unread` with the reason.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, TypeVar

_KIB_LINE = re.compile(r"^(?:Node \d+ )?([^:]+):\s+(\d+)( kB)?$")


def meminfo(text: str | None) -> dict[str, int]:
    """`/proc/meminfo` or a NUMA node's `meminfo`: bytes for the lines in kB, plain numbers for the others."""
    found = (_KIB_LINE.match(line.strip()) for line in (text or "").splitlines())
    return {match[1]: int(match[2]) * (1024 if match[3] else 1) for match in found if match}


def kstat(text: str | None) -> dict[str, int]:
    """A ZFS kstat table (`name type data`): the numeric rows."""
    rows = (line.split() for line in (text or "").splitlines())
    return {row[0]: int(row[2]) for row in rows if len(row) == 3 and row[2].isdigit()}


def colon_lines(text: str | None) -> dict[str, str]:
    """Lines of `name: value`, the first of each name."""
    found: dict[str, str] = {}
    for line in (text or "").splitlines():
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip(), value.strip())
    return found


T = TypeVar("T")


@dataclass(frozen=True)
class Unread:
    """Something that could not be read, and why."""

    what: str
    why: str


def text_of(path: str | Path) -> str:
    """For files that come and go, or belong to somebody else, as those of a process in /proc: what cannot be read is empty."""
    try:
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            return file.read()
    except OSError:
        return ""


def legible(name: str) -> str:
    """A file's name as Ansible takes it in a result: bytes that are no text, which a name may hold, are written out."""
    return os.fsencode(name).decode(errors="backslashreplace")


def lines_of(text: str) -> list[str]:
    """Lines that end with a line feed, which the kernel keeps out of names. Of the other characters that Python breaks lines at anybody may put
    one into the name of his process, control group or mount, and behind it a line of his own making.
    """
    return text.removesuffix("\n").split("\n") if text else []


class HostFiles:
    """Reads files below `root`; paths are those of the host."""

    def __init__(self, root: str = "/") -> None:
        self.root = root
        self._unread: dict[str, Unread] = {}

    @property
    def unread(self) -> tuple[Unread, ...]:
        return tuple(self._unread.values())

    def path(self, path: str) -> str:
        return os.path.join(self.root, path.lstrip("/"))

    def exists(self, path: str) -> bool:
        return os.path.exists(self.path(path))

    def text(self, path: str) -> str | None:
        """The file's text without white space around it; None when it is absent or could not be read."""

        def read(real: str) -> str:
            with open(real, "rb") as handle:
                return handle.read().decode("utf-8", "replace").strip()

        return self._try(path, read)

    def number(self, path: str) -> int | None:
        """The file's number; None when it is absent, could not be read or holds none."""
        text = self.text(path)
        try:
            return None if text is None else int(text)
        except ValueError:
            self.note(path, f"holds {text!r} where a number was expected")
            return None

    def names(self, path: str) -> tuple[str, ...]:
        """The sorted names in a directory; empty when it is absent or could not be read."""
        found: list[str] | None = self._try(path, os.listdir)
        return tuple(sorted(found or ()))

    def link_name(self, path: str) -> str | None:
        """The last part of a link's target: the driver or IOMMU group of a device."""
        target: str | None = self._try(path, os.readlink)
        return None if target is None else os.path.basename(target)

    def note(self, what: str, why: str) -> None:
        self._unread.setdefault(what, Unread(what, why))

    def _try(self, path: str, read: Callable[[str], T]) -> T | None:
        try:
            return read(self.path(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self.note(path, error.strerror or str(error))
            return None
