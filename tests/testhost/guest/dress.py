# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs in a test host early in each boot: makes the device nodes and lays the overmount tree over /proc, /sys and the like.

/dev, /proc and /sys are made anew by every boot, so nothing of this can lie in the host's files. Where the host has what the tree
names, the tree's file is bound over it. Where the host lacks it, its directory is rebuilt: the tree's entries, and those of the host
bound in beside them; procfs and sysfs take no new names.
"""

from __future__ import annotations

import ctypes
import json
import os
import stat
from itertools import count
from pathlib import Path

WARDROBE = Path(__file__).parent
STAGES = Path("/run/testhost-dress")
UNTOUCHABLE = {Path("/"), Path("/proc"), Path("/dev"), Path("/run")}
TYPES = {"c": stat.S_IFCHR, "b": stat.S_IFBLK}
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC = 1, 32, 4096, 16384

libc = ctypes.CDLL(None, use_errno=True)
stage_numbers = count()


def main() -> None:
    for node in read_json("nodes.json", []):
        make_node(
            Path(node["path"]), TYPES[node["type"]] | int(node["mode"], 8), os.makedev(node["major"], node["minor"])
        )
    tree = WARDROBE / "overmount"
    replaced = {Path(path) for path in read_json("overmount.json", {}).get("replace", [])}
    if tree.is_dir():
        for entry in sorted(tree.iterdir()):
            cover(entry, Path("/") / entry.name, replaced)


def read_json(name: str, absent):
    path = WARDROBE / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else absent


def make_node(path: Path, mode: int, device: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mknod(path, mode, device)
    os.chmod(path, stat.S_IMODE(mode))


def cover(source: Path, target: Path, replaced: set[Path]) -> None:
    """Make target look as source says; what source does not name stays, except below a directory in `replaced`."""
    if target in replaced or not is_directory(source):
        bind(source, target)
    elif all(fits(entry, target / entry.name) for entry in source.iterdir()):
        for entry in sorted(source.iterdir()):
            cover(entry, target / entry.name, replaced)
    else:
        rebuild(source, target, replaced)


def fits(source: Path, target: Path) -> bool:
    """Can source be mounted over target? Links cannot, neither as what is mounted nor as where."""
    if source.is_symlink() or target.is_symlink():
        return False
    return target.is_dir() if is_directory(source) else target.is_file()


def rebuild(source: Path, target: Path, replaced: set[Path]) -> None:
    if target in UNTOUCHABLE:
        missing = sorted(entry.name for entry in source.iterdir() if not fits(entry, target / entry.name))
        raise SystemExit(
            f"The description adds {', '.join(missing)} to {target}, which the host lacks; {target} itself cannot be rebuilt."
        )
    stage = STAGES / str(next(stage_numbers))
    stage.mkdir(parents=True)
    named = {entry.name: entry for entry in source.iterdir()}
    for entry in target.iterdir():
        if entry.name not in named or (is_directory(named[entry.name]) and is_directory(entry)):
            place(entry, stage / entry.name)
    for name, entry in named.items():
        if not is_directory(stage / name):
            place(entry, stage / name)
    moved = {stage / path.relative_to(target) for path in replaced if path.is_relative_to(target)}
    for name, entry in named.items():
        if is_directory(entry) and is_directory(target / name):
            cover(entry, stage / name, moved)
    bind(stage, target)
    mount(None, target, MS_REMOUNT | MS_BIND | MS_RDONLY)  # as it was: systemd starts udev where /sys is writable


def place(source: Path, spot: Path) -> None:
    """Show source at a spot that does not exist yet."""
    if source.is_symlink():
        spot.symlink_to(os.readlink(source))
        return
    if source.is_dir():
        spot.mkdir()
    else:
        spot.touch()
    bind(source, spot)


def is_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def bind(source: Path, target: Path) -> None:
    mount(source, target, MS_BIND | MS_REC)


def mount(source: Path | None, target: Path, flags: int) -> None:
    if libc.mount(source and os.fsencode(source), os.fsencode(target), None, flags, None):
        number = ctypes.get_errno()
        raise OSError(number, f"{source or 'a change of flags'} cannot be mounted over {target}: {os.strerror(number)}")


if __name__ == "__main__":
    main()
