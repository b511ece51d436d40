# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two system calls that Python does not offer. Private to the collection, may change any time."""

from __future__ import annotations

import ctypes
import os
import struct

_KCMP = {"x86_64": 312, "aarch64": 272}
_KCMP_FILES = 2

# Take the answer that is at hand: a network file system that is gone is not waited for.
_AT_STATX_DONT_SYNC, _AT_NO_AUTOMOUNT = 0x4000, 0x800
_FLAGS = _AT_STATX_DONT_SYNC | _AT_NO_AUTOMOUNT
_STATX_TYPE_AND_INODE = 0x101
_STATX_BYTES = 256
_STATX = struct.Struct("=28xH2xQ88xIIII")


# Type and permissions, inode, number of the device that it stands for, number of the file system that it lies on; a plain tuple, since
# there are very many.
Seen = tuple[int, int, int, int, int, int]


class SystemCalls:
    """Keeps the buffer that the kernel writes into, so not to be shared by threads."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self._kcmp = _KCMP.get(os.uname().machine)
        self._buffer = ctypes.create_string_buffer(_STATX_BYTES)
        self._address = ctypes.addressof(self._buffer)
        self._statx = getattr(self._library, "statx", None)
        if self._statx is not None:
            self._statx.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p]
            if self._seen(os.O_RDONLY, b"/") is None:
                self._statx = None  # an old kernel, or one that refuses the call

    def look(self, name: str, folder: int = -1) -> Seen | None:
        """What a link of /proc leads to, of a name relative to an open folder; None when it is gone or refused."""
        if self._statx is not None:
            return self._seen(folder, name.encode())
        try:
            found = os.stat(name, dir_fd=None if folder < 0 else folder)
        except OSError:
            return None
        numbers = (os.major(found.st_rdev), os.minor(found.st_rdev), os.major(found.st_dev), os.minor(found.st_dev))
        return (found.st_mode, found.st_ino, *numbers)

    def same_files(self, task: int, other: int) -> bool:
        """Whether two tasks share one table of descriptors; False too where the kernel does not tell."""
        if self._kcmp is None:
            return False
        return bool(self._library.syscall(self._kcmp, task, other, _KCMP_FILES, 0, 0) == 0)

    def _seen(self, folder: int, name: bytes) -> Seen | None:
        if self._statx is None or self._statx(folder, name, _FLAGS, _STATX_TYPE_AND_INODE, self._address):
            return None
        seen: Seen = _STATX.unpack_from(self._buffer)
        return seen
