# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Dressing a host: what its description adds to the bare image. README.md has the layout of the tree."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from .command import HostError, sentence_list

GUEST = Path(__file__).with_name("guest")
WARDROBE = Path("usr/local/lib/testhost")
UNIT = "testhost-dress.service"
# Links into /usr on Debian 12 and newer; a directory of that name would hide them.
MERGED = ("bin", "lib", "lib64", "sbin")


def dress(source: Path, upper: Path, scratch: Path) -> None:
    """Put a dressing tree, or the one made from a description, into a host's upper layer before it boots."""
    tree = source if source.is_dir() else tree_of(source, scratch)
    plain = tree / "rootfs"
    refuse_merged(plain)
    if plain.is_dir():
        shutil.copytree(plain, upper, symlinks=True, dirs_exist_ok=True)
    wardrobe = upper / WARDROBE
    wardrobe.mkdir(parents=True, exist_ok=True)
    if (tree / "overmount").is_dir():
        shutil.copytree(tree / "overmount", wardrobe / "overmount", symlinks=True)
    for name in ("nodes.json", "overmount.json"):
        if (tree / name).exists():
            shutil.copy(tree / name, wardrobe / name)
    shutil.copy(GUEST / "dress.py", wardrobe / "dress.py")
    write(upper / "etc/systemd/system" / UNIT, (GUEST / UNIT).read_text())
    wants = upper / "etc/systemd/system/sysinit.target.wants"
    wants.mkdir(exist_ok=True)
    (wants / UNIT).symlink_to(f"../{UNIT}")


def tree_of(description: Path, scratch: Path) -> Path:
    from ..doubles.nvml.dress import dress as dress_machine

    try:
        content = json.loads(description.read_text())
    except (OSError, ValueError) as fault:
        raise HostError(
            f"{description} must be a host description in JSON, or a directory with a dressing tree: {fault}."
        ) from fault
    scratch.mkdir()
    dress_machine(content, scratch)
    return scratch


def refuse_merged(plain: Path) -> None:
    wrong = [name for name in MERGED if os.path.lexists(plain / name)]
    if wrong:
        raise HostError(
            f"{plain} has {sentence_list(wrong)} at its top, which would hide the links into /usr; put the files below usr/."
        )


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
