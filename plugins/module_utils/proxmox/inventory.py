# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which guest of a Proxmox VE host has which GPU, and through which device nodes and processes. Private to the collection, may change any time."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from ..observe.files import HostFiles, Unread
from ..observe.holders.scan import CONTROL_NODES, UVM_NODE, Holder
from ..observe.identity import Identity
from ..observe.pci import PciGpu, read_pci_gpus
from ..observe.process import unit_in

_MINOR = re.compile(r"^Device Minor:\s*(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class HostGpu:
    """`device`: its node of the nvidia driver ("nvidia0"), None without that driver. `passed`: names below /dev of the nodes that a VM's process opens to
    have it: "vfio/17" by IOMMU group, "vfio/devices/vfio0" by iommufd."""

    pci: PciGpu
    device: str | None
    passed: tuple[str, ...]

    @property
    def address(self) -> str:
        return self.pci.address

    @property
    def nodes(self) -> frozenset[str]:
        return frozenset(self.passed + ((self.device,) if self.device else ()))


def read_host_gpus(files: HostFiles) -> tuple[HostGpu, ...]:
    return tuple(_read_gpu(files, pci) for pci in read_pci_gpus(files))


def passed_numbers(files: HostFiles, gpus: tuple[HostGpu, ...]) -> dict[tuple[int, int], str]:
    """Device number to name of each node that is there; by number, as for the driver's nodes, because the path that a process opened tells nothing."""
    numbers = {}
    for gpu in gpus:
        for name in gpu.passed:
            try:
                node = os.stat(files.path(f"/dev/{name}"))
            except OSError:
                continue  # made when the device is bound to vfio, gone when it is not
            if stat.S_ISCHR(node.st_mode):
                numbers[(os.major(node.st_rdev), os.minor(node.st_rdev))] = name
    return numbers


def _read_gpu(files: HostFiles, pci: PciGpu) -> HostGpu:
    minor = _MINOR.search(files.text(f"/proc/driver/nvidia/gpus/{pci.address}/information") or "")
    group = () if pci.iommu_group is None else (f"vfio/{pci.iommu_group}",)
    own = tuple(f"vfio/devices/{name}" for name in files.names(f"/sys/bus/pci/devices/{pci.address}/vfio-dev"))
    return HostGpu(pci, f"nvidia{minor[1]}" if minor and pci.driver == "nvidia" else None, group + own)


_INSIDE = re.compile(r"^/lxc(?:\.payload\.|/)(\d+)(?:/ns)?(?=/|$)")
_SCOPE = re.compile(r"/qemu\.slice/(\d+)\.scope(?:/|$)")


@dataclass(frozen=True)
class Guest:
    """`kind`: "lxc" or "qemu". `given`: addresses of what its configuration gives it. `qemu`: its QEMU process, while it runs.
    `managed`: by the cluster's high availability, which does what `pct` and `qm` ask for by itself, later."""

    vmid: int
    kind: str
    name: str | None
    running: bool
    given: tuple[str, ...] = ()
    qemu: Identity | None = None
    managed: bool = False

    @property
    def words(self) -> str:
        return f"{'container' if self.kind == 'lxc' else 'VM'} {self.vmid}"


@dataclass(frozen=True)
class GuestHolder:
    """A process that has GPUs of this host open. `vmid`: of the guest that it belongs to, None for the host's own. `guest_uid`: its user inside a
    container, None where the container does not know it. `addresses`: the GPUs that it has open."""

    holder: Holder
    vmid: int | None
    guest_uid: int | None
    addresses: tuple[str, ...]

    @property
    def pid(self) -> int:
        return self.holder.identity.pid

    @property
    def words(self) -> str:
        whose = "" if self.vmid is None else f" of guest {self.vmid}"
        return f"{self.pid} ({self.holder.name}){whose}"

    @property
    def inside(self) -> tuple[str, ...]:
        """Its control group as the container sees it, in parts."""
        path = self.holder.identity.control_group
        match = _INSIDE.match(path)
        return tuple(part for part in path[match.end() :].split("/") if part) if match else ()

    @property
    def unit(self) -> str | None:
        return unit_in("/".join(self.inside))

    def group_of(self, unit: str) -> str:
        """The control group, as the host names it, of a unit inside that it belongs to."""
        head, _unit, _tail = (self.holder.identity.control_group + "/").partition(f"/{unit}/")
        return f"{head}/{unit}"

    @property
    def has_context(self) -> bool:
        """Whether it can have memory of a GPU: a VM's process has the whole GPU, another one nvidia-uvm open or something mapped. The rest watches."""
        return any(
            name == UVM_NODE or name.startswith("vfio/") or (name not in CONTROL_NODES and "mapping" in ways)
            for name, ways in self.holder.devices.items()
        )


@dataclass(frozen=True)
class HostInventory:
    """All that was seen at one time. `unread`: processes that could not be looked into, so may hold anything."""

    gpus: tuple[HostGpu, ...]
    guests: tuple[Guest, ...]
    holders: tuple[GuestHolder, ...]
    unread: tuple[Unread, ...] = ()

    def guest(self, vmid: int) -> Guest | None:
        return next((guest for guest in self.guests if guest.vmid == vmid), None)

    def gpus_of(self, guest: Guest) -> tuple[str, ...]:
        """What it was given and what its processes have. A mapping can give a VM any GPU of a pool: while it runs, it has those that it holds."""
        held = {address for holder in self.holders if holder.vmid == guest.vmid for address in holder.addresses}
        own = held if guest.kind == "qemu" and held else held | set(guest.given)
        return tuple(gpu.address for gpu in self.gpus if gpu.address in own)

    def as_dict(self) -> dict[str, Any]:
        having = {guest.vmid: self.gpus_of(guest) for guest in self.guests}
        return {
            "schema": 1,
            "gpus": [_gpu(gpu, having, self.holders) for gpu in self.gpus],
            "guests": [_guest(guest, having[guest.vmid], self.holders) for guest in self.guests],
            "unread": [asdict(entry) for entry in self.unread],
        }


def attribute(
    holders: Iterable[Holder], gpus: tuple[HostGpu, ...], guests: tuple[Guest, ...], guest_uids: dict[int, int | None]
) -> tuple[GuestHolder, ...]:
    """Whose each holder is. `guest_uids`: of each pid, as `inside_uid` tells it.

    A process with nodes of no GPU in particular (nvidia-uvm alone) is taken to have each GPU that its guest was given; one of the host's own, all
    that have the driver. One that only talks to the driver (nvidiactl alone) has none.
    """
    return tuple(_attributed(holder, gpus, guests, guest_uids) for holder in holders)


def inside_uid(uid: int, uid_map: str) -> int | None:
    """The user inside, by /proc/PID/uid_map as the host reads it: lines of first inside, first outside, count."""
    for line in uid_map.splitlines():
        words = line.split()
        if len(words) == 3 and 0 <= uid - int(words[1]) < int(words[2]):
            return int(words[0]) + uid - int(words[1])
    return None


def _attributed(
    holder: Holder, gpus: tuple[HostGpu, ...], guests: tuple[Guest, ...], uids: dict[int, int | None]
) -> GuestHolder:
    vmid = _vmid(holder)
    guest = next((guest for guest in guests if guest.vmid == vmid), None)
    addresses = tuple(gpu.address for gpu in gpus if gpu.nodes & set(holder.devices))
    if not addresses and UVM_NODE in holder.devices:
        driven = [gpu.address for gpu in gpus if gpu.device]
        addresses = tuple(address for address in driven if guest is None or address in guest.given) or tuple(driven)
    inside = _INSIDE.match(holder.identity.control_group)
    return GuestHolder(holder, vmid, uids.get(holder.identity.pid) if inside else None, addresses)


def _vmid(holder: Holder) -> int | None:
    """By its control group: that of a container (also with another container inside), or the scope of a VM. Never by a pid file: a number that came
    again would make another's process ours."""
    path = holder.identity.control_group
    match = _INSIDE.match(path) or _SCOPE.search(path)
    return int(match[1]) if match else None


def _gpu(gpu: HostGpu, having: dict[int, tuple[str, ...]], holders: tuple[GuestHolder, ...]) -> dict[str, Any]:
    return {
        "pci_address": gpu.address,
        "device_id": gpu.pci.device_id,
        "driver": gpu.pci.driver,
        "iommu_group": gpu.pci.iommu_group,
        "device": gpu.device,
        "guests": [vmid for vmid, addresses in having.items() if gpu.address in addresses],
        "holders": [holder.pid for holder in holders if gpu.address in holder.addresses],
    }


def _guest(guest: Guest, addresses: tuple[str, ...], holders: tuple[GuestHolder, ...]) -> dict[str, Any]:
    return {
        "vmid": guest.vmid,
        "kind": guest.kind,
        "name": guest.name,
        "running": guest.running,
        "gpus": list(addresses),
        "holders": [_holder(held) for held in holders if held.vmid == guest.vmid],
    }


def _holder(held: GuestHolder) -> dict[str, Any]:
    holder = held.holder
    return {
        "pid": held.pid,
        "guest_pid": holder.namespace_pids[-1] if holder.namespace_pids else held.pid,
        "name": holder.name,
        "state": holder.state,
        "uid": holder.identity.uid,
        "guest_uid": held.guest_uid,
        "start_ticks": holder.identity.start_ticks,
        "unit": held.unit,
        "devices": {name: list(ways) for name, ways in holder.devices.items()},
    }
