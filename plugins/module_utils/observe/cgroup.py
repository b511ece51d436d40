# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The limits of this process: memory of its control groups, and memory that it may lock. Private to the collection, may change any time.

A group's limit binds all below it, so the smallest one on the way to the root counts. In a container the way ends at the container's
own root, which carries the container's limit.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import NamedTuple

from ..core.units import KIB
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


# Version 1 writes "no limit" as the largest multiple of the page size below 2^63, whatever the page size.
_V1_UNLIMITED = (1 << 63) - 64 * KIB


class _Files(NamedTuple):
    """How one version of the control groups names what we read."""

    limit: str
    throttle: str | None
    current: str
    cached: tuple[str, str]  # pages of files in memory.stat, of the group and all below it


_NAMES = {
    1: _Files("memory.limit_in_bytes", None, "memory.usage_in_bytes", ("total_active_file", "total_inactive_file")),
    2: _Files("memory.max", "memory.high", "memory.current", ("active_file", "inactive_file")),
}


@dataclass(frozen=True)
class Cgroup:
    """`limit_bytes`: more gets a process killed; `throttle_bytes`: more gets it slowed down. None: nothing binds.

    `cached_bytes` of what is current are pages of files, which the kernel drops before it kills.
    """

    version: int | None
    limit_bytes: int | None
    current_bytes: int | None
    limiting_path: str | None
    throttle_bytes: int | None
    cached_bytes: int | None = None


def read_cgroup(files: HostFiles) -> Cgroup:
    home = _home(files)
    if home is None:
        return Cgroup(None, None, None, None, None)
    version, mount, path = home
    names = _NAMES[version]
    limits: list[tuple[int, str]] = []
    throttles: list[int] = []
    while True:
        folder = posixpath.join(mount, path.lstrip("/")).rstrip("/")
        limit = _limit(files, f"{folder}/{names.limit}")
        if limit is not None:
            limits.append((limit, path))
        throttle = _limit(files, f"{folder}/{names.throttle}") if names.throttle else None
        if throttle is not None:
            throttles.append(throttle)
        if path == "/":
            break
        path = posixpath.dirname(path)
    smallest = min(limits) if limits else None
    home_of_limit = posixpath.join(mount, smallest[1].lstrip("/")) if smallest else ""
    return Cgroup(
        version=version,
        limit_bytes=smallest[0] if smallest else None,
        current_bytes=files.number(posixpath.join(home_of_limit, names.current)) if smallest else None,
        limiting_path=smallest[1] if smallest else None,
        throttle_bytes=min(throttles, default=None),
        cached_bytes=_cached(files, posixpath.join(home_of_limit, "memory.stat"), names.cached) if smallest else None,
    )


def _cached(files: HostFiles, path: str, names: tuple[str, str]) -> int | None:
    text = files.text(path)
    if text is None:
        return None
    lines = (line.split() for line in text.splitlines())
    return sum(int(line[1]) for line in lines if len(line) == 2 and line[0] in names)


def _home(files: HostFiles) -> tuple[int, str, str] | None:
    """Version, mount point and own path of the hierarchy that accounts memory.

    A host may mount both versions; memory is accounted in version 1 where its controller is listed with a hierarchy of its own.
    """
    own = {}
    for line in (files.text("/proc/self/cgroup") or "").splitlines():
        _number, controllers, path = line.split(":", 2)
        own.update(dict.fromkeys(controllers.split(","), path))
    for version, controller in ((1, "memory"), (2, "")):
        if controller in own:
            for mount, root in _mounts(files, version):
                return version, mount, _below(own[controller], root)
    return None


def _mounts(files: HostFiles, version: int) -> list[tuple[str, str]]:
    """Mount points of the wanted hierarchy, each with the group it shows as its root (`/proc/self/mountinfo`)."""
    found = []
    for line in (files.text("/proc/self/mountinfo") or "").splitlines():
        mount, _dash, source = line.partition(" - ")
        kind, _device, options = [*source.split(), "", "", ""][:3]
        if kind == {1: "cgroup", 2: "cgroup2"}[version] and (version == 2 or "memory" in options.split(",")):
            root, point = mount.split()[3:5]
            found.append((point, root))
    return found


def _below(path: str, root: str) -> str:
    """Own path as seen below the mount point; outside of it (another namespace's) the mount point itself is the best we have."""
    if path == root or path.startswith("/.."):
        return "/"
    return path[len(root.rstrip("/")) :] if path.startswith(f"{root.rstrip('/')}/") else "/"


def _limit(files: HostFiles, path: str) -> int | None:
    text = files.text(path)
    if text is None or text == "max":
        return None
    limit = int(text)
    return None if limit >= _V1_UNLIMITED else limit
