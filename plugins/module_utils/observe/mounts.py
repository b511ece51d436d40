# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which file systems may never answer, of the mounts that a process sees. Private to the collection, may change any time."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .files import lines_of

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
