# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What other inference servers hold on this host. Private to the collection, may change any time."""

from __future__ import annotations

from pathlib import Path

from .installed import read_record
from .process import CGROUP2_MOUNTS, PROC, pids_of_cgroup
from .progress import count

STATE_DIRECTORY = Path("/var/lib/blackwell-inference")
_PATTERN = "system.slice/sglang-*.service"


def other_engines(
    unit: str, state_directory: Path = STATE_DIRECTORY, mounts: tuple[Path, ...] = CGROUP2_MOUNTS, proc: Path = PROC
) -> dict[str, int]:
    """Bytes of host memory by unit, of every `sglang-*.service` with processes but `unit`, sorted by name.

    Each counts with what its processes hold, or with what its plan says where that is more: it may still be loading, and
    memory that the driver pins need not show in any process.
    """
    groups = {path.name: path.relative_to(mount) for mount in mounts for path in mount.glob(_PATTERN)}
    found: dict[str, int] = {}
    for name in sorted(set(groups) - {unit}):
        pids = pids_of_cgroup(str(groups[name]), mounts)
        if pids:
            memory = count(pids, proc).memory
            held = memory.get("anonymous", 0) + memory.get("shared", 0)
            found[name] = max(held, _planned_bytes(name, state_directory))
    return found


def _planned_bytes(unit: str, state_directory: Path) -> int:
    """What the other's recorded plan takes of the host; 0 where nobody planned it, or its record cannot be read."""
    plan = read_record(state_directory / unit[len("sglang-") : -len(".service")] / "plan.json")
    try:
        return sum(int(line["size_bytes"]) for line in plan["host"]["lines"]) if plan else 0
    except (KeyError, TypeError, ValueError):
        return 0
