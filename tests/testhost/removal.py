# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removing trees without ever reaching through a mount."""

from __future__ import annotations

from pathlib import Path

from .command import HostError, run, sentence_list


def remove_tree(path: Path) -> None:
    mounted = mounts_below(path)
    if mounted:
        raise HostError(f"{path} is not removed: {sentence_list(mounted)} is mounted there. Unmount it and try again.")
    run(
        "rm", "-rf", "--one-file-system", str(path)
    )  # unlike shutil, at ease with a second one that removes the same tree


def mounts_below(path: Path) -> list[str]:
    points = [line.split()[4].replace("\\040", " ") for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return [point for point in points if Path(point).is_relative_to(path)]
