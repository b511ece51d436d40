# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Device nodes of a machine without its driver, and the /proc/devices that goes with them.

No driver is here that would open a node of major 195. So a node carries the number of some harmless device that can be opened by several
processes at once: nothing that ordinary programs hold (no /dev/null), no terminal unless nothing else is left (a session leader that opens
one gets a controlling terminal, and its children a SIGHUP later). Whoever looks for GPUs has to take numbers from nodes and /proc/devices.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .description import Description, gpus

Number = tuple[int, int]

SCREENS = ((7, 0), (7, 64), (7, 128), (7, 1), (7, 65), (7, 129))
MISCELLANEOUS = ((10, 200), (10, 229), (10, 237))  # tun, fuse, loop-control: opening alone does nothing
CPUID = ((203, 0), (203, 1))
RARER = ((10, 234), (10, 235), (10, 232), (1, 7), (1, 5))
TERMINALS = tuple((4, number) for number in range(63, 51, -1))
CANDIDATES: tuple[Number, ...] = (*SCREENS, *MISCELLANEOUS, *CPUID, *RARER, *TERMINALS)

MODE = "0666"
ORDINARY_DEVICES = (  # what every machine lists; a major that a node has taken is left out
    (1, "mem"), (4, "tty"), (5, "/dev/tty"), (5, "/dev/console"), (5, "/dev/ptmx"), (10, "misc"), (13, "input"), (136, "pts"),
)  # fmt: skip
BLOCK_DEVICES = ((8, "sd"), (9, "md"), (259, "blkext"))


class NodeError(Exception):
    """A sentence for whoever called."""


def names(description: Description) -> list[str]:
    return [f"nvidia{minor}" for minor in sorted(gpu["minor"] for gpu in gpus(description))] + [
        "nvidiactl",
        "nvidia-uvm",
        "nvidia-uvm-tools",
    ]


def nodes(description: Description, candidates: Iterable[Number] | None = None) -> list[dict[str, Any]]:
    """One node a name, each with a number of its own. Without candidates: those of CANDIDATES that open here, as root."""
    wanted = names(description)
    numbers = list(candidates if candidates is not None else openable(CANDIDATES))
    if len(numbers) < len(wanted):
        raise NodeError(
            f"{len(wanted)} device nodes need as many numbers of devices that can be opened, and this kernel has {len(numbers)} of the candidates: "
            "add harmless ones to CANDIDATES in nodes.py."
        )
    chosen, left = numbers[: len(wanted) - 2], numbers[len(wanted) - 2 :]
    majors = {major for major, _minor in chosen}
    chosen += sorted(left, key=lambda number: number[0] in majors)[
        :2
    ]  # as in life, nvidia-uvm has a major of its own, where there is one left
    return [
        {"path": f"/dev/{name}", "type": "c", "major": major, "minor": minor, "mode": MODE}
        for name, (major, minor) in zip(wanted, chosen, strict=True)
    ]


def openable(candidates: Iterable[Number]) -> list[Number]:
    if os.geteuid():
        return list(candidates)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        return [number for number in candidates if opens(Path(folder) / "node", number)]


def opens(path: Path, number: Number) -> bool:
    """Whether a node of this number can be opened for reading and writing, twice."""
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(*number))
    descriptors = []
    try:
        descriptors += [os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK) for _time in range(2)]
    except OSError as refusal:
        if refusal.errno not in (
            errno.ENXIO,
            errno.ENODEV,
            errno.EBUSY,
            errno.EACCES,
            errno.EPERM,
            errno.EINVAL,
            errno.ENOENT,
        ):
            raise
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
        path.unlink()
    return len(descriptors) == 2


def devices_text(made: Iterable[Mapping[str, Any]]) -> str:
    """/proc/devices. The driver registers each of its families under a name; here a family can have several majors."""
    families = sorted({(node["major"], family(node["path"])) for node in made})
    taken = {major for major, _family in families}
    ordinary = [entry for entry in ORDINARY_DEVICES if entry[0] not in taken]
    characters = sorted([*ordinary, *families])
    return "Character devices:\n" + listed(characters) + "\nBlock devices:\n" + listed(BLOCK_DEVICES)


def family(path: str) -> str:
    name = path.removeprefix("/dev/")
    return {"nvidia-uvm-tools": "nvidia-uvm"}.get(name, "nvidia" if name.removeprefix("nvidia").isdigit() else name)


def listed(entries: Iterable[tuple[int, str]]) -> str:
    return "".join(f"{major:3d} {name}\n" for major, name in entries)
