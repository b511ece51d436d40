# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `pct`, `qm` and `nvidia-smi` of this folder share: guests that are real processes, and the files that tell of them.

$PVE_DOUBLE names a folder:

    root/           what the machine shows at /etc/pve, /run/qemu-server, /sys/bus/pci/devices, /proc/driver
    guests/ID.json  how a guest behaves: `processes` of a container, nodes of a VM, what it does when it is stopped
    memory.json     of each GPU, MiB used and in all, as nvidia-smi shows them
    owner           pid of the test: no guest outlives it
    calls           every command that changes something, one a line
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

CGROUPS = next(
    path for path in (Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup")) if (path / "cgroup.procs").exists()
)
HERE = Path(__file__).parent
TREES = {"lxc": "lxc/{}", "qemu": "qemu.slice/{}.scope"}


class State:
    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    @property
    def root(self) -> Path:
        return self.folder / "root"

    @property
    def owner(self) -> int:
        return int((self.folder / "owner").read_text())

    def note(self, *words: str) -> None:
        with (self.folder / "calls").open("a") as calls:
            calls.write(" ".join(words) + "\n")

    def guest(self, vmid: str) -> dict[str, Any]:
        return json.loads((self.folder / "guests" / f"{vmid}.json").read_text())

    def ids(self, kind: str) -> list[str]:
        folder = self.root / "etc/pve" / {"lxc": "lxc", "qemu": "qemu-server"}[kind]
        return sorted((path.stem for path in folder.glob("*.conf")), key=int)

    def setting(self, kind: str, vmid: str, key: str) -> str | None:
        folder = self.root / "etc/pve" / {"lxc": "lxc", "qemu": "qemu-server"}[kind]
        for line in (folder / f"{vmid}.conf").read_text().splitlines():
            if line.startswith(f"{key}: "):
                return line.partition(": ")[2]
        return None

    def pid(self, vmid: str) -> int | None:
        """Of the QEMU process, while it runs."""
        try:
            pid = int((self.root / f"run/qemu-server/{vmid}.pid").read_text())
        except FileNotFoundError:
            return None
        return pid if alive(pid) else None


def here() -> State:
    return State(os.environ["PVE_DOUBLE"])


def tree(kind: str, vmid: str) -> Path:
    return CGROUPS / TREES[kind].format(vmid)


def populated(group: Path) -> bool:
    try:
        return "populated 1" in (group / "cgroup.events").read_text()
    except FileNotFoundError:
        return False


def kill(group: Path) -> None:
    if group.exists():
        (group / "cgroup.kill").write_text("1")


def remove(group: Path) -> None:
    for folder, _names, _files in os.walk(group, topdown=False):
        os.rmdir(folder)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(true: Any, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def die(message: str) -> int:
    """As Proxmox's commands end when a task fails."""
    print(message, file=sys.stderr)
    return 255
