# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cgroup for each host: everything that runs for it is in there, so killing the cgroup leaves no process."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from .command import HostError

TREES = Path("/sys/fs/cgroup")
KILL_SECONDS = 10.0


def unified() -> Path:
    hybrid = TREES / "unified"
    return hybrid if hybrid.is_dir() else TREES


def make(name: str) -> Path:
    """launcher/ for launcher.sh, machine/ for nspawn and the host, exec/ for visitors: a cgroup with children should hold no process."""
    path = unified() / name
    for directory in (path, path / "launcher", path / "machine", path / "exec"):
        directory.mkdir()
    return path


def is_populated(name: str) -> bool:
    try:
        return "populated 1" in (unified() / name / "cgroup.events").read_text()
    except FileNotFoundError:
        return False


def names(prefix: str) -> list[str]:
    return sorted(path.name for path in unified().glob(f"{prefix}-*"))


def kill(name: str) -> None:
    """By the cgroup: nspawn alone would leave the host's systemd alive, and an orderly halt takes ten times as long."""
    try:
        (unified() / name / "cgroup.kill").write_text("1\n")
    except FileNotFoundError:
        return
    deadline = time.monotonic() + KILL_SECONDS
    while is_populated(name):
        if time.monotonic() > deadline:
            raise HostError(
                f"Processes of {name} are still there {KILL_SECONDS:.0f} s after the kill; `ps` shows what they wait for."
            )
        time.sleep(0.02)


def remove(name: str) -> None:
    """From each hierarchy: where version 1 is mounted too, systemd in the host leaves empty directories under name=systemd."""
    for tree in {TREES, unified(), *TREES.iterdir()}:
        for directory, _children, _files in os.walk(tree / name, topdown=False):
            with suppress(FileNotFoundError):  # another gc was faster
                os.rmdir(directory)


def leader(name: str) -> int | None:
    """Process id, as the machine sees it, of the host's PID 1."""
    try:
        found = (unified() / name / "machine/payload/init.scope/cgroup.procs").read_text().split()
    except FileNotFoundError:
        return None
    return int(found[0]) if found else None


def joining(name: str, part: str, argv: Sequence[str]) -> list[str]:
    """The command line that first moves into a part of the cgroup and then becomes argv."""
    return ["sh", "-c", 'echo $$ >"$0" && exec "$@"', str(unified() / name / part / "cgroup.procs"), *argv]
