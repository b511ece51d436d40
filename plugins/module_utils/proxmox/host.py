# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Proxmox VE host: its GPUs, its guests, who holds what, and what may be done there. Private to the collection, may change any time."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable

from ..core.errors import ObservationError, ReleaseError
from ..observe.files import HostFiles, text_of
from ..observe.holders.gpu_nodes import GpuNodes, read_gpu_nodes
from ..observe.holders.scan import Holders, read_holders
from ..observe.identity import Identity, read_identity
from ..observe.process import CGROUP2_MOUNTS
from ..release.termination import Outcome, end
from .commands import Ran, Run
from .gpu_health import faults_of, gave_up, reset_command
from .guest_config import (
    container_settings,
    given_addresses,
    mapped_addresses,
    running_containers,
    running_vms,
    vm_settings,
)
from .inventory import Guest, HostGpu, HostInventory, attribute, inside_uid, passed_numbers, read_host_gpus
from .state import GuestGpuState, ProxmoxRequest, guest_of, occupies

LIST_SECONDS = 60.0

Scan = Callable[[HostFiles, "tuple[HostGpu, ...]"], Holders]
"""Who holds nodes of the driver and of vfio."""


@dataclass(frozen=True)
class Kind:
    """Where the guests of one kind are. `resource`: what the cluster's high availability calls one."""

    name: str
    folder: str
    command: str
    resource: str


KINDS = (Kind("lxc", "/etc/pve/lxc", "pct", "ct"), Kind("qemu", "/etc/pve/qemu-server", "qm", "vm"))


def require_proxmox(files: HostFiles, has_command: Callable[[str], bool]) -> None:
    missing = [kind.command for kind in KINDS if not has_command(kind.command)]
    if missing or not files.exists("/etc/pve"):
        seen = f"no {' and no '.join(missing)} is on PATH" if missing else "/etc/pve is not there"
        raise ObservationError(
            f"This is not a Proxmox VE host: {seen}. Guests and their GPUs can only be seen on the host itself: delegate this task to it."
        )


def scan_with(timeout_seconds: float) -> Scan:
    if timeout_seconds <= 0:
        raise ReleaseError(f"scan_timeout_seconds is {timeout_seconds:g}: more than 0 was expected.")

    def scan(files: HostFiles, gpus: tuple[HostGpu, ...]) -> Holders:
        driven = read_gpu_nodes(files.root)
        nodes = GpuNodes({**driven.names, **passed_numbers(files, gpus)}, driven.families)
        return read_holders(nodes, (), timeout_seconds)

    return scan


def read_host(files: HostFiles, run: Run, scan: Scan, node: str) -> HostInventory:
    gpus = read_host_gpus(files)
    guests = read_guests(files, run, gpus, node)
    seen = scan(files, gpus)
    uids = {holder.identity.pid: _inside_uid(files, holder.identity) for holder in seen.holders}
    return HostInventory(gpus, guests, attribute(seen.holders, gpus, guests, uids), seen.unread)


def read_guests(files: HostFiles, run: Run, gpus: tuple[HostGpu, ...], node: str) -> tuple[Guest, ...]:
    """`node`: the name of this host in its cluster, by which resource mappings tell its devices."""
    devices = {gpu.device: gpu.address for gpu in gpus if gpu.device}
    mapped = mapped_addresses(files.text("/etc/pve/mapping/pci.cfg") or "", node)
    managed = set(re.findall(r"^(ct|vm): *(\d+)", files.text("/etc/pve/ha/resources.cfg") or "", re.MULTILINE))
    guests = []
    for kind in KINDS:
        running = _running(run, kind)
        for vmid in _ids(files, kind.folder):
            text = files.text(f"{kind.folder}/{vmid}.conf") or ""
            settings = container_settings(text) if kind.name == "lxc" else vm_settings(text)
            guests.append(
                Guest(
                    vmid=vmid,
                    kind=kind.name,
                    name=settings.name,
                    running=vmid in running,
                    given=given_addresses(settings, devices, mapped),
                    qemu=_qemu(files, vmid) if kind.name == "qemu" else None,
                    managed=(kind.resource, str(vmid)) in managed,
                )
            )
    return tuple(guests)


def _running(run: Run, kind: Kind) -> frozenset[int]:
    ran = run((kind.command, "list"), LIST_SECONDS)
    if not ran.ok:
        raise ObservationError(
            f"Which guests run could not be told: `{kind.command} list` {ran.complaint}. "
            "A working Proxmox VE was expected; look at `systemctl status pve-cluster pvedaemon`."
        )
    return running_containers(ran.stdout) if kind.name == "lxc" else running_vms(ran.stdout)


def _ids(files: HostFiles, folder: str) -> list[int]:
    names = (re.fullmatch(r"(\d+)\.conf", name) for name in files.names(folder))
    return sorted(int(name[1]) for name in names if name)


def _qemu(files: HostFiles, vmid: int) -> Identity | None:
    """By its pid file, which outlives a killed QEMU: so only where that process is in the scope of this VM."""
    text = text_of(files.path(f"/run/qemu-server/{vmid}.pid")).strip()
    identity = read_identity(int(text)) if text.isdigit() else None
    return identity if identity and identity.control_group.endswith(f"/qemu.slice/{vmid}.scope") else None


def _inside_uid(files: HostFiles, identity: Identity) -> int | None:
    return inside_uid(identity.uid, text_of(os.path.join(files.path("/proc"), str(identity.pid), "uid_map")))


class ProxmoxHost:
    """`node`: the name of this host in its cluster."""

    def __init__(self, files: HostFiles, run: Run, scan: Scan, node: str, request: ProxmoxRequest) -> None:
        self._files, self._run, self._scan, self._node, self._request = files, run, scan, node, request
        self._began = time.time()

    def look(self) -> GuestGpuState:
        return situation_of(
            self._files, self._run, read_host(self._files, self._run, self._scan, self._node), self._request
        )

    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def run(self, command: Sequence[str], seconds: float) -> Ran:
        return self._run(command, seconds)

    def end(self, identities: Collection[Identity], grace_seconds: float, deadline: float) -> dict[int, Outcome]:
        return end(identities, grace_seconds, deadline)

    def kill_group(self, control_group: str) -> bool:
        return any(kill_group(mount / control_group.lstrip("/")) for mount in CGROUP2_MOUNTS)

    def reset_command(self, address: str) -> tuple[str, ...] | None:
        gpu = next((gpu for gpu in read_host_gpus(self._files) if gpu.address == address), None)
        return reset_command(self._files, gpu) if gpu else None

    def gave_up(self) -> str | None:
        return gave_up(self._request.addresses, self._began)


def situation_of(files: HostFiles, run: Run, host: HostInventory, request: ProxmoxRequest) -> GuestGpuState:
    """A GPU that somebody has is judged by that; only one that nobody has is asked for its memory."""
    guest = guest_of(host, request.vmid)
    state = GuestGpuState(host, guest, request.addresses)
    had = {address for held in state.clients if occupies(held) for address in held.addresses}
    idle = [gpu for gpu in host.gpus if gpu.address in request.addresses and gpu.address not in had]
    return replace(state, faults=faults_of(files, run, idle))


def kill_group(folder: Path) -> bool:
    """By the group itself, so that no process can be born in between. False where the group is empty, gone, or of version 1."""
    try:
        if "populated 1" not in (folder / "cgroup.events").read_text():
            return False
        (folder / "cgroup.kill").write_text("1")
    except OSError:
        return False
    return True
