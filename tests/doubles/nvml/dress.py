# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the dressing tree of a machine from its description, in the layout that tests/testhost puts on a host.

    python3 -m tests.doubles.nvml.dress tests/data/hosts/NAME.json DIRECTORY

    rootfs/         the library under the driver's name, and the description it answers from
    overmount/      what lies over /proc and /sys
    nodes.json      the nodes in /dev
    overmount.json  directories of which the host's own entries disappear

`overmount/` is also a root by itself for programs that can be told where /proc and /sys are.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from . import proc, sysfs
from .build import LIBRARY, BuildError, build
from .description import Description
from .nodes import NodeError, Number, devices_text, nodes

LIBRARIES = Path("rootfs/usr/lib/x86_64-linux-gnu")


def dress(description: Description, destination: Path, node_numbers: Iterable[Number] | None = None) -> None:
    """Write the tree of a described machine below destination, which exists. node_numbers: instead of those that open here."""
    made = nodes(description, node_numbers)
    overmount = destination / "overmount"
    write_all(overmount, {**proc.files(description), **sysfs.files(description), "proc/devices": devices_text(made)})
    if Path(
        "/proc/modules"
    ).exists():  # a kernel without loadable modules has no such file, and /proc takes no new names
        write(overmount / "proc/modules", proc.modules(description))
    for path in sysfs.directories(description):
        (overmount / path).mkdir(parents=True, exist_ok=True)
    for path, target in sysfs.links(description).items():
        (overmount / path).parent.mkdir(parents=True, exist_ok=True)
        (overmount / path).symlink_to(target)
    write_json(destination / "nodes.json", made)
    write_json(destination / "overmount.json", {"replace": list(sysfs.REPLACED)})
    write_json(destination / "rootfs/etc/fake-nvml.json", description)
    install_library(description, destination / LIBRARIES)


def install_library(description: Description, folder: Path) -> None:
    """The file is named by the version of the libraries, which on a mismatch is not that of the module."""
    folder.mkdir(parents=True, exist_ok=True)
    named = folder / f"libnvidia-ml.so.{description['driver']['version']}"
    shutil.copy(build(), named)
    (folder / LIBRARY).symlink_to(named.name)


def write_all(root: Path, texts: Mapping[str, str]) -> None:
    for path, text in texts.items():
        write(root / path, text)


def write_json(path: Path, content: object) -> None:
    write(path, json.dumps(content, indent=1) + "\n")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.mkdir(parents=True, exist_ok=True)
    try:
        dress(json.loads(source.read_text(encoding="utf-8")), target)
    except (BuildError, NodeError) as failure:
        sys.exit(str(failure))
