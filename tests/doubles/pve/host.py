# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Proxmox VE host of a few GPUs, on this machine: its files, and guests that are real processes."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible_collections.blackwell.inference.tests.doubles.nvml.nodes import CANDIDATES, openable
from ansible_collections.blackwell.inference.tests.doubles.pve.pve import (
    CGROUPS,
    HERE,
    TREES,
    State,
    alive,
    kill,
    populated,
    remove,
    tree,
    wait_until,
)

ORDINARY = ("null 1 3", "zero 1 5", "random 1 8", "urandom 1 9")
NAMES = ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "vfio/20", "vfio/21")
VMIDS_PER_TEST = 10
_ids = itertools.count()


class PveHost(State):
    """GPUs 0 and 1 have the nvidia driver, 2 and 3 are bound to vfio-pci. `numbers`: of the device nodes, borrowed from harmless devices."""

    addresses = ("0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "0000:04:00.0")

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        collect_left_groups()
        self.numbers = dict(zip(NAMES, numbers(), strict=False))
        for name in (
            "etc/pve/lxc",
            "etc/pve/qemu-server",
            "etc/pve/mapping",
            "etc/pve/ha",
            "run/qemu-server",
            "proc/driver",
        ):
            (self.root / name).mkdir(parents=True)
        (folder / "guests").mkdir()
        (folder / "owner").write_text(str(os.getpid()))
        (self.root / "nodes").write_text(
            "\n".join([*ORDINARY, *(f"{name} {a} {b}" for name, (a, b) in self.numbers.items())]) + "\n"
        )
        for index, address in enumerate(self.addresses):
            self._add_gpu(address, "nvidia" if index < 2 else "vfio-pci", 18 + index, index)
        self.show_memory({address: [0, 97887] for address in self.addresses[:2]})

    @property
    def environment(self) -> dict[str, str]:
        return {"PVE_DOUBLE": str(self.folder), "PATH": f"{HERE}:{os.environ['PATH']}"}

    @property
    def entrance(self) -> list[str]:
        """In front of a command that is to run on this host."""
        return ["unshare", "--mount", "--propagation", "private", "sh", str(HERE / "enter.sh"), str(self.root)]

    @property
    def calls(self) -> list[str]:
        file = self.folder / "calls"
        return file.read_text().splitlines() if file.exists() else []

    def show_memory(self, gpus: dict[str, list[int]], **more: Any) -> None:
        (self.folder / "memory.json").write_text(json.dumps({"gpus": gpus, **more}))

    def new_id(self) -> str:
        """An id that no other test of this machine has: control groups are the machine's."""
        return str(1_000_000 + os.getpid() * VMIDS_PER_TEST * 10 + next(_ids))

    def container(self, settings: Sequence[str], processes: Sequence[dict[str, Any]] = (), **more: Any) -> str:
        """A running container; processes name their nodes, whose numbers are filled in."""
        full = [{**process, "nodes": self._numbered(process["nodes"])} for process in processes]
        return self._begin("lxc", "pct", settings, {"processes": full, **more})

    def vm(self, settings: Sequence[str], nodes: Sequence[str], **more: Any) -> str:
        return self._begin("qemu", "qm", settings, {"nodes": self._numbered(nodes), **more})

    def settle(self, kind: str, vmid: str, *settings: str) -> None:
        """What the configuration says from now on."""
        folder = {"lxc": "lxc", "qemu": "qemu-server"}[kind]
        (self.root / "etc/pve" / folder / f"{vmid}.conf").write_text("\n".join(settings) + "\n")

    def processes(self, vmid: str) -> dict[str, int]:
        """Pids, as this machine sees them, of the container's processes by name."""
        found = {}
        for group in tree("lxc", vmid).rglob("cgroup.procs"):
            for pid in map(int, group.read_text().split()):
                found[Path(f"/proc/{pid}/comm").read_text().strip()] = pid
        return found

    def close(self) -> None:
        for kind in TREES:
            for vmid in self.ids(kind):
                group = tree(kind, vmid)
                kill(group)
                if not wait_until(lambda group=group: not populated(group), 10):
                    raise RuntimeError(f"Processes of {group} are still there.")
                if group.exists():
                    remove(group)
            with suppress(OSError):  # others' guests, or none
                (CGROUPS / TREES[kind].split("/", maxsplit=1)[0]).rmdir()

    def _begin(self, kind: str, command: str, settings: Sequence[str], guest: dict[str, Any]) -> str:
        vmid = self.new_id()
        self.settle(kind, vmid, *settings)
        (self.folder / "guests" / f"{vmid}.json").write_text(json.dumps(guest))
        subprocess.run([str(HERE / command), "start", vmid], env={**os.environ, **self.environment}, check=True)
        (self.folder / "calls").unlink()
        return vmid

    def _numbered(self, names: Sequence[str]) -> dict[str, tuple[int, int]]:
        return {name: self.numbers[name] for name in names}

    def _add_gpu(self, address: str, driver: str, group: int, minor: int) -> None:
        home = self.root / "sys/bus/pci/devices" / address
        home.mkdir(parents=True)
        texts = {"vendor": "0x10de", "device": "0x2bb5", "class": "0x030200", "numa_node": "0", "local_cpulist": "0-1"}
        for name, text in {**texts, "reset_method": "flr bus", "reset": ""}.items():
            (home / name).write_text(text + "\n" if text else "")
        (home / "config").write_bytes(b"\xde\x10\xb5\x2b")
        (home / "driver").symlink_to(f"../../../bus/pci/drivers/{driver}")
        (home / "iommu_group").symlink_to(f"../../../kernel/iommu_groups/{group}")
        if driver == "nvidia":
            told = self.root / "proc/driver/nvidia/gpus" / address
            told.mkdir(parents=True)
            (told / "information").write_text(
                f"Model: \t\t NVIDIA RTX PRO 6000\nBus Location: \t {address}\nDevice Minor: \t {minor}\n"
            )


def collect_left_groups() -> None:
    """Control groups of tests that were killed: their processes ended with them, the groups do not."""
    for pattern in ("lxc/*", "qemu.slice/*.scope"):
        for group in CGROUPS.glob(pattern):
            number = re.match(r"\d+", group.name)
            owner = (int(number[0]) - 1_000_000) // (VMIDS_PER_TEST * 10) if number else 0
            if owner > 0 and not alive(owner) and not populated(group):
                with suppress(OSError):
                    remove(group)


def numbers() -> list[tuple[int, int]]:
    """From the end of the candidates: dressed hosts take them from the front, and holders of one number are seen by every scan of the machine."""
    return openable(CANDIDATES[::-1])
