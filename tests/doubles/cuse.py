# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Character devices with numbers of our choice, as long as this process runs, by the kernel's CUSE (character device in user space).

The kernel lists them in /proc/devices and makes their nodes in /dev, as for a driver's own. They can be opened and closed, and nothing else.
Needs root and the module cuse, and nothing but Python: it is copied to the machine that it runs on.
"""

from __future__ import annotations

import errno
import os
import struct
import threading
from pathlib import Path

DOOR = Path("/dev/cuse")

_INIT, _OPEN, _RELEASE, _INTERRUPT = 4096, 14, 18, 36  # of include/uapi/linux/fuse.h, as all below
_REQUEST = struct.Struct("<IIQ24x")  # length, what is asked, its number
_REPLY = struct.Struct("<IiQ")
_INIT_REPLY = struct.Struct("<4I4I40x")  # version, unused, flags, most to read and to write, major, minor
_OPEN_REPLY = bytes(16)
_VERSION = (7, 31)
_MOST_BYTES = 4096
_BUFFER_BYTES = 1 << 17


def make_device(name: str, major: int, minor: int) -> None:
    """Major 0 lets the kernel choose one. The node is there when this returns. OSError where the number or the name is taken."""
    kernel = os.open(DOOR, os.O_RDWR)
    asked, number = _next_request(kernel)
    if asked != _INIT:
        raise OSError(errno.EPROTO, f"the kernel began with request {asked}, not with {_INIT}", str(DOOR))
    numbers = _INIT_REPLY.pack(*_VERSION, 0, 0, _MOST_BYTES, _MOST_BYTES, major, minor)
    _reply(kernel, number, numbers + f"DEVNAME={name}\0".encode())
    if not Path("/dev", name).is_char_device():
        raise OSError(errno.EBUSY, f"the kernel made no device {name} with the number {major}:{minor}", str(DOOR))
    threading.Thread(target=_serve, args=(kernel,), daemon=True).start()


def _serve(kernel: int) -> None:
    while True:
        asked, number = _next_request(kernel)
        if asked == _OPEN:
            _reply(kernel, number, _OPEN_REPLY)
        elif asked == _RELEASE:
            _reply(kernel, number)
        elif asked != _INTERRUPT:  # which wants no reply
            _reply(kernel, number, error=errno.ENOSYS)


def _next_request(kernel: int) -> tuple[int, int]:
    _length, asked, number = _REQUEST.unpack_from(os.read(kernel, _BUFFER_BYTES))
    return asked, number


def _reply(kernel: int, number: int, told: bytes = b"", error: int = 0) -> None:
    os.write(kernel, _REPLY.pack(_REPLY.size + len(told), -error, number) + told)
