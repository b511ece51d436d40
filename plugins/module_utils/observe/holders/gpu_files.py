# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which GPU nodes a task has open or mapped, without waiting for a file system that never answers. Private to the collection, may change any time.

Two of the system calls that this needs are not offered by Python.
"""

from __future__ import annotations

import ctypes
import os
import re
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Callable

from ..files import lines_of, text_of
from ..identity import DELETED
from ..process import tasks_of
from .gpu_nodes import GpuNodes, Number, is_gpu_node

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


_MAY_HANG = re.compile(
    r"nfs\d*|cifs|smb3?|smbfs|fuse(\..*|blk)?|ceph|9p|autofs|lustre|gpfs|beegfs|afs|virtiofs|glusterfs|ocfs2|gfs2"
)
_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True)
class Mounts:
    """`hanging`: mount point to whether what is mounted there may hang. `prefixes`: beginnings of paths for which that has to be asked."""

    hanging: dict[str, bool]
    prefixes: tuple[str, ...]
    devices: frozenset[bytes]

    def may_hang(self, path: str) -> bool:
        """Whether a file lies on such a file system: the mount with the longest matching path has it."""
        if not path.startswith(self.prefixes):
            return False
        point = path
        while point not in self.hanging and point not in ("", "/"):
            point = point.rpartition("/")[0]
        return self.hanging.get(point or "/", False)


def read_mounts(mountinfo: str) -> Mounts:
    """Of the text of /proc/PID/mountinfo. `devices` are written as in /proc/PID/maps."""
    hanging: dict[str, bool] = {}
    devices = set()
    for line in lines_of(mountinfo):
        place, separator, rest = line.partition(" - ")
        fields = place.split(" ")
        if not separator or len(fields) < 5:
            continue
        hangs = _MAY_HANG.fullmatch(rest.split(" ")[0]) is not None
        hanging[_ESCAPED.sub(lambda found: chr(int(found[1], 8)), fields[4])] = (
            hangs  # the last mount on a place covers the others
        )
        if hangs:
            major, _colon, minor = fields[2].partition(":")
            devices.add(f"{int(major):02x}:{int(minor):02x}".encode())
    prefixes = tuple(point for point, hangs in hanging.items() if hangs)
    return Mounts(hanging, prefixes, frozenset(devices))


# A file: file system, inode and path. What has no inode is none.
_MAPPED_FILE = re.compile(rb" ([0-9a-f]+:[0-9a-f]+ [1-9].*)\n")
_MAPPING = re.compile(rb"^(\S+) \S+ \S+ ((\S+) ([1-9]\d*)(?: +(.*))?)$", re.MULTILINE)
_LINKS_OF_ONE_TASK = 3
_DEV = "/dev/"


class GpuFiles:
    """Reads below `proc`. `shared_memory`: number of the file system of /dev/shm; `refer` is told each inode on it that is open or mapped."""

    def __init__(self, proc: str, nodes: GpuNodes, shared_memory: Number | None, refer: Callable[[int], None]) -> None:
        self.proc = proc
        self.nodes = nodes
        self.shared_memory = shared_memory
        self.refer = refer
        self.descriptors = 0
        self._calls = SystemCalls()
        self._mounts: dict[str, Mounts] = {}
        self._mapped: dict[bytes, str | None] = {}

    def opened(self, pid: int) -> set[str]:
        """Raises PermissionError for what we may not look into, ProcessLookupError and FileNotFoundError for what is gone."""
        names = set(self._opened_by(pid))
        for task in self._tables_beside(pid):
            try:
                names.update(self._opened_by(task))
            except (FileNotFoundError, ProcessLookupError):
                continue
        return names

    def mapped(self, task: int) -> set[str]:
        """May wait as long as the process itself does. Raises PermissionError as well; empty when it is gone."""
        try:
            with open(f"{self.proc}/{task}/maps", "rb") as file:
                maps = file.read()
        except PermissionError:
            raise
        except OSError:
            return set()
        files = set(_MAPPED_FILE.findall(maps))
        if not files <= self._mapped.keys():
            for found in _MAPPING.finditer(maps):
                if found[2] not in self._mapped:
                    self._mapped[found[2]] = self._mapped_node(task, found)
        return {node for node in map(self._mapped.get, files) if node}

    def _tables_beside(self, pid: int) -> Iterator[int]:
        """A task of each further table of descriptors. A leader that has exited has an empty one, while its threads keep theirs."""
        if os.stat(f"{self.proc}/{pid}/task").st_nlink <= _LINKS_OF_ONE_TASK:
            return
        told = [pid]
        for task in tasks_of(self.proc, pid):
            if not any(task == other or self._calls.same_files(task, other) for other in told):
                told.append(task)
                yield task

    def _opened_by(self, task: int) -> Iterator[str]:
        folder = os.open(f"{self.proc}/{task}/fd", os.O_RDONLY | os.O_DIRECTORY)
        try:
            names = os.listdir(folder)
            self.descriptors += len(names)
            mounts = self._mounts_of(task) if names else None
            for name in names:
                if mounts and mounts.prefixes and mounts.may_hang(_link(name, folder)):
                    continue
                seen = self._calls.look(name, folder)
                if seen is None:
                    _raise_if_refused(name, folder)
                    continue
                node = self._node(seen)
                if node:
                    yield node
        finally:
            os.close(folder)

    def _node(self, seen: Seen) -> str | None:
        mode, inode, major, minor, system_major, system_minor = seen
        if stat.S_ISCHR(mode):
            return self.nodes.name_of((major, minor))
        if (system_major, system_minor) == self.shared_memory:
            self.refer(inode)
        return None

    def _mounts_of(self, task: int) -> Mounts:
        namespace = _link(f"{self.proc}/{task}/ns/mnt")
        if namespace not in self._mounts:
            self._mounts[namespace] = read_mounts(text_of(f"{self.proc}/{task}/mountinfo"))
        return self._mounts[namespace]

    def _mapped_node(self, task: int, found: re.Match[bytes]) -> str | None:
        system, inode, path = found[3], int(found[4]), os.fsdecode(found[5] or b"")
        major, minor = (int(part, 16) for part in system.split(b":"))
        if (major, minor) == self.shared_memory:
            self.refer(inode)
            return None
        if system in self._mounts_of(task).devices:
            return None
        seen = self._calls.look(f"{self.proc}/{task}/map_files/{_range(found[1])}")
        if seen is not None:
            return self._node(seen)
        name = path[len(_DEV) :].removesuffix(DELETED) if path.startswith(_DEV) else ""
        return name if is_gpu_node(name) else None


def _link(name: str, folder: int | None = None) -> str:
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError:
        return ""


def _raise_if_refused(name: str, folder: int) -> None:
    """Names of descriptors may be listed by whoever has the same user; where they lead to is told by stricter rules."""
    try:
        os.readlink(name, dir_fd=folder)
    except (FileNotFoundError, ProcessLookupError):
        return


def _range(addresses: bytes) -> str:
    """As map_files has it: /proc/PID/maps writes leading zeros, it does not."""
    return "-".join(f"{int(part, 16):x}" for part in addresses.split(b"-"))
