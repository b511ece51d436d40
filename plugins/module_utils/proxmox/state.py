# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the GPUs of one guest stand, and what was asked for. Private to the collection, may change any time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..core.errors import ReleaseError
from ..core.text import listed
from ..observe.pci import pci_address
from ..release.protected import protected_program
from .inventory import Guest, GuestHolder, HostInventory

CONSENTS = ("none", "processes", "guest_stop", "reset", "reboot")
"""Each includes those before it."""


@dataclass(frozen=True)
class ProxmoxRequest:
    """`addresses`: the GPUs that must be free at the end. `unit`, `user`: which of a container's processes may be ended, by what they are inside."""

    vmid: int
    addresses: tuple[str, ...]
    consent: str = "none"
    unit: str | None = None
    user: int | None = None
    grace_seconds: float = 30.0
    deadline_seconds: float = 300.0

    def require_sense(self, guest: Guest) -> None:
        if guest.kind == "qemu" and (self.unit is not None or self.user is not None):
            raise ReleaseError(
                f"unit and user choose among the processes inside a container; guest {guest.vmid} is a VM, whose processes the host cannot see. "
                "Leave them out."
            )
        if self.unit is not None and not re.fullmatch(r"[^/]+\.service", self.unit):
            raise ReleaseError(
                f"unit '{self.unit}' was given; the name of a systemd service inside the container is expected, such as sglang-kimi.service."
            )
        if self.grace_seconds < 0 or self.deadline_seconds <= 0:
            raise ReleaseError(
                f"grace_seconds {self.grace_seconds:g} and deadline_seconds {self.deadline_seconds:g} were given; "
                "a grace of 0 or more and a deadline above 0 are expected."
            )

    def allows(self, consent: str) -> bool:
        return CONSENTS.index(self.consent) >= CONSENTS.index(consent)


@dataclass(frozen=True)
class GuestGpuState:
    """`faults`: of the wanted GPUs, by address, what keeps one from being free although no process has a context on it."""

    host: HostInventory
    guest: Guest
    addresses: tuple[str, ...]
    faults: Mapping[str, str] = field(default_factory=dict)

    @property
    def clients(self) -> tuple[GuestHolder, ...]:
        """Whoever has the GPUs open, in whatever way."""
        return tuple(held for held in self.host.holders if set(self.addresses) & set(held.addresses))

    @property
    def own(self) -> tuple[GuestHolder, ...]:
        return tuple(held for held in self.clients if held.vmid == self.guest.vmid)

    @property
    def contexts(self) -> tuple[GuestHolder, ...]:
        """Those of the guest that keep a GPU from being free."""
        return tuple(held for held in self.own if occupies(held))

    @property
    def others(self) -> tuple[GuestHolder, ...]:
        """The same of others, who are never touched."""
        return tuple(held for held in self.clients if held.vmid != self.guest.vmid and occupies(held))

    @property
    def released(self) -> bool:
        return not (self.contexts or self.others or self.faults)

    @property
    def neighbours(self) -> tuple[Guest, ...]:
        """Other guests that run and have GPUs of this host, whichever."""
        return tuple(
            guest
            for guest in self.host.guests
            if guest.running and guest.vmid != self.guest.vmid and self.host.gpus_of(guest)
        )

    @property
    def gpus(self) -> str:
        return named(self.addresses)

    def without_guest(self) -> GuestGpuState:
        """As it would be with the guest stopped, at worst."""
        left = tuple(held for held in self.host.holders if held.vmid != self.guest.vmid)
        stopped = replace(self.guest, running=False, qemu=None)
        faults = {address: f"GPU {address} would still not be free." for address in self.addresses}
        return replace(self, host=replace(self.host, holders=left), guest=stopped, faults=faults)


def occupies(held: GuestHolder) -> bool:
    """Whether a GPU is not free because of it: not the driver's own programs, which are on every healthy host, and not what only watches."""
    program = protected_program(held.holder)
    return held.has_context and (program is None or program.kind.counts)


def selected(state: GuestGpuState, request: ProxmoxRequest) -> tuple[GuestHolder, ...]:
    """The guest's processes that may be ended one by one: all that hold the GPUs, or those of a unit or user inside; never MPS or a display."""
    return tuple(
        held
        for held in state.contexts
        if protected_program(held.holder) is None
        and (request.unit is None or request.unit in held.inside)
        and (request.user is None or request.user == held.guest_uid)
    )


def wanted(host: HostInventory, guest: Guest, gpus: list[str]) -> tuple[str, ...]:
    """Addresses of the GPUs that were asked for: all of the guest's, or those of them that were named."""
    having = host.gpus_of(guest)
    asked = [pci_address(gpu) for gpu in gpus]
    strange = [address for address in asked if address not in having]
    if strange:
        raise ReleaseError(
            f"gpus names {listed(strange)}, which {guest.words} does not have. It has {named(having) if having else 'no GPU'}: "
            "name some of these, or leave gpus out for all."
        )
    return tuple(address for address in having if address in asked) if asked else having


def guest_of(host: HostInventory, vmid: int) -> Guest:
    guest = host.guest(vmid)
    if guest is None:
        ids = ", ".join(str(known.vmid) for known in sorted(host.guests, key=lambda known: known.vmid))
        raise ReleaseError(
            f"This host has no guest {vmid}; {f'its guests are {ids}' if ids else 'it has no guests'}. "
            "Where the guest was migrated, delegate this task to the host that it is on now."
        )
    return guest


def named(addresses: Sequence[str]) -> str:
    return f"GPU{'s' if len(addresses) > 1 else ''} {listed(addresses)}"


def people(holders: tuple[GuestHolder, ...]) -> str:
    return f"process{'es' if len(holders) > 1 else ''} {listed([held.words for held in holders])}"


def holding(holders: tuple[GuestHolder, ...], addresses: tuple[str, ...]) -> str:
    return f"{people(holders)} hold{'' if len(holders) > 1 else 's'} {named(addresses)}"


def together(guests: tuple[Guest, ...]) -> str:
    return listed([guest.words for guest in guests])
