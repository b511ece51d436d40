# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ladder's door to a real host. Private to the collection, may change any time."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from ...observe.files import HostFiles
from ...observe.holder import Identity
from ...observe.process import CGROUP2_MOUNTS
from ..killer import Ending, end
from .commands import Ran, Run
from .condition import faults_of, gave_up, reset_command
from .host_gpus import read_host_gpus
from .listing import Host
from .reading import Scan, read_host
from .situation import Request, Situation, guest_of, occupies


class HostDoor:
    """`node`: the name of this host in its cluster."""

    def __init__(self, files: HostFiles, run: Run, scan: Scan, node: str, request: Request) -> None:
        self._files, self._run, self._scan, self._node, self._request = files, run, scan, node, request
        self._began = time.time()

    def look(self) -> Situation:
        return situation_of(
            self._files, self._run, read_host(self._files, self._run, self._scan, self._node), self._request
        )

    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def run(self, command: Sequence[str], seconds: float) -> Ran:
        return self._run(command, seconds)

    def end(self, identities: Collection[Identity], grace_seconds: float, deadline: float) -> dict[int, Ending]:
        return end(identities, grace_seconds, deadline)

    def kill_group(self, control_group: str) -> bool:
        return any(kill_group(mount / control_group.lstrip("/")) for mount in CGROUP2_MOUNTS)

    def reset_command(self, address: str) -> tuple[str, ...] | None:
        gpu = next((gpu for gpu in read_host_gpus(self._files) if gpu.address == address), None)
        return reset_command(self._files, gpu) if gpu else None

    def gave_up(self) -> str | None:
        return gave_up(self._request.addresses, self._began)


def situation_of(files: HostFiles, run: Run, host: Host, request: Request) -> Situation:
    """A GPU that somebody has is judged by that; only one that nobody has is asked for its memory."""
    guest = guest_of(host, request.vmid)
    situation = Situation(host, guest, request.addresses)
    had = {address for held in situation.clients if occupies(held) for address in held.addresses}
    idle = [gpu for gpu in host.gpus if gpu.address in request.addresses and gpu.address not in had]
    return replace(situation, faults=faults_of(files, run, idle))


def kill_group(folder: Path) -> bool:
    """By the group itself, so that no process can be born in between. False where the group is empty, gone, or of version 1."""
    try:
        if "populated 1" not in (folder / "cgroup.events").read_text():
            return False
        (folder / "cgroup.kill").write_text("1")
    except OSError:
        return False
    return True
