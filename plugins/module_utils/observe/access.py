# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether another user may read a file. Private to the collection, may change any time.

What root reads while it plans, the engine's own user must be able to read when it starts; a user who does not exist yet may do what everybody may.
"""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterable
from dataclasses import dataclass

from ..core.errors import ObservationError

_ACCESS_LIST = "system.posix_acl_access"
_READ, _ENTER = 4, 1


@dataclass(frozen=True)
class Reader:
    """A user by name; `uid` is None while there is no such user."""

    name: str
    uid: int | None
    groups: frozenset[int]

    @classmethod
    def named(cls, name: str) -> Reader:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            return cls(name, None, frozenset())
        return cls(name, entry.pw_uid, frozenset(os.getgrouplist(name, entry.pw_gid)))

    def may(self, mode: int, uid: int, gid: int, right: int) -> bool:
        """By the mode alone, as the kernel goes through it: the first class that a user belongs to counts."""
        if self.uid == 0:
            return True
        shift = 6 if uid == self.uid else 3 if gid in self.groups else 0
        return bool(mode >> shift & right)


def require_readable(paths: Iterable[str], user: str) -> None:
    """Raises ObservationError with the first file, or the first folder on the way to it, that `user` may not read or enter."""
    reader = Reader.named(user)
    known: dict[str, bool] = {}
    for path in paths:
        for step in _way(path):
            if step not in known:
                known[step] = _is_open(step, reader)
            if not known[step]:
                raise ObservationError(_sentence(step, path, reader))


def _way(path: str) -> list[str]:
    """The folders on the way to a file and the file, as it is named and as its links lead to it."""
    steps: list[str] = []
    for way in (os.path.abspath(path), os.path.realpath(path)):
        parts = way.split("/")
        steps += ["/".join(parts[:count]) or "/" for count in range(1, len(parts) + 1)]
    return list(dict.fromkeys(steps))


def _is_open(step: str, reader: Reader) -> bool:
    """A step with an access list of its own counts as open: its mode does not tell."""
    status = os.stat(step)
    right = _ENTER if stat.S_ISDIR(status.st_mode) else _READ
    return reader.may(status.st_mode, status.st_uid, status.st_gid, right) or _has_access_list(step)


def _has_access_list(step: str) -> bool:
    try:
        return _ACCESS_LIST in os.listxattr(step)
    except OSError:  # a file system without any
        return False


def _sentence(step: str, path: str, reader: Reader) -> str:
    mode = stat.S_IMODE(os.stat(step).st_mode)
    return (
        f"{path} cannot be read by the user {reader.name}: {step} has the mode {mode:04o}. A path that the engine's own user can read was expected; "
        "give others the right to read the files and to enter the folders (chmod a+rX), or put the model elsewhere."
    )
