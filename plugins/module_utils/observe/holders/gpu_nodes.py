# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The device numbers by which GPUs are opened. Private to the collection, may change any time.

A container or another mount namespace has nodes of its own at other places: what counts is the number. All but one of the driver's majors are
given out at load time, and a node may carry the number of something else altogether, so whole numbers are compared.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..files import HostFiles

Number = tuple[int, int]

MAJOR = 195
"""The driver's own for ever, by the kernel's list of devices."""

_FIXED = {254: "nvidia-modeset", 255: "nvidiactl"}
_UVM = {0: "nvidia-uvm", 1: "nvidia-uvm-tools"}
_CAPABILITY = {"nvidia-caps": "nvidia-cap", "nvidia-caps-imex-channels": "channel"}
_NODE = re.compile(
    r"nvidia\d+|nvidiactl|nvidia-modeset|nvidia-uvm(-tools)?|nvidia-caps/nvidia-cap\d+|nvidia-caps-imex-channels/channel\d+"
)
_FAMILY = re.compile(r"^\s*(\d+) (\S+)$")


@dataclass(frozen=True)
class GpuNodes:
    """`names`: number of a node to its name below /dev. `families`: majors that are the driver's whole, to what they are called."""

    names: Mapping[Number, str] = field(default_factory=dict)
    families: Mapping[int, str] = field(default_factory=dict)

    def name_of(self, number: Number) -> str | None:
        """What a device number stands for; None for what is not a GPU's."""
        major, minor = number
        named = self.names.get((major, minor))
        family = self.families.get(major)
        if named or family is None:
            return named
        if major == MAJOR:
            return _FIXED.get(minor, f"nvidia{minor}")
        if family == "nvidia-uvm":
            return _UVM.get(minor)
        return f"{family}/{_CAPABILITY[family]}{minor}"

    def as_json(self) -> dict[str, Any]:
        return {
            "names": [[major, minor, name] for (major, minor), name in self.names.items()],
            "families": [[major, family] for major, family in self.families.items()],
        }

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> GpuNodes:
        return cls({(major, minor): name for major, minor, name in told["names"]}, dict(told["families"]))


def is_gpu_node(name: str) -> bool:
    """Of a name below /dev."""
    return _NODE.fullmatch(name) is not None


def read_gpu_nodes(root: str = "/") -> GpuNodes:
    files = HostFiles(root)
    names: dict[Number, str] = {}
    for name in _nodes_below_dev(files):
        try:
            status = os.lstat(files.path(f"/dev/{name}"))
        except OSError:
            continue
        if stat.S_ISCHR(status.st_mode):
            names.setdefault((os.major(status.st_rdev), os.minor(status.st_rdev)), name)
    return GpuNodes(names, families_of(files.text("/proc/devices") or ""))


def families_of(devices: str) -> dict[int, str]:
    """The majors that are the driver's alone, of the text of /proc/devices."""
    takers: dict[int, set[str]] = {}
    for line in devices.partition("Block devices:")[0].splitlines():
        found = _FAMILY.match(line)
        if found:
            takers.setdefault(int(found[1]), set()).add(found[2])
    return {major: min(names) for major, names in takers.items() if _whole(major, names)}


def _whole(major: int, names: set[str]) -> bool:
    if major == MAJOR:
        return any(name.startswith("nvidia") for name in names)
    return len(names) == 1 and names <= {"nvidia-uvm", *_CAPABILITY}


def _nodes_below_dev(files: HostFiles) -> Iterable[str]:
    names = files.names("/dev")
    folders = [
        f"{folder}/{name}" for folder in _CAPABILITY if folder in names for name in files.names(f"/dev/{folder}")
    ]
    return filter(is_gpu_node, [*names, *folders])
