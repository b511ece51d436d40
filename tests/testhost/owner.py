# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that a host was made for. When it is gone, gc may take the host; a host without owner stays until `down`."""

from __future__ import annotations

from pathlib import Path


def identify(pid: int) -> str:
    """The process and its start time: a number alone may have been given to another one since."""
    return f"{pid}@{start_time(pid)}"


def is_gone(owner: str) -> bool:
    pid, _at, started = owner.partition("@")
    return start_time(int(pid)) != started


def start_time(pid: int) -> str:
    """A process that has ended and waits for its parent to take note has none."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    except FileNotFoundError:
        return "never"
    state, *more = after_name.split()
    return "never" if state == "Z" else more[18]
