# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel log says of GPUs: an application's fault, or one of the hardware. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar, Union

from ..core.sentences import abridged
from ..core.times import iso, utc
from ..observe.kernel_log import KernelLog
from ..observe.pci import pci_address
from . import xids
from .fault import LINE_CHARACTERS, OF_A_PROGRAM, XID, Fault, broken_gpus, broken_kernel
from .xids import CURES, HARDWARE, meaning_of


@dataclass(frozen=True)
class Xid:
    """The newest line of one number on one GPU."""

    number: int
    pci_address: str
    kind: str
    what: str
    cure: str | None
    time_seconds: float
    line: str

    @property
    def said(self) -> str:
        return f"Xid {self.number} ({self.what})"

    def as_dict(self) -> dict[str, Any]:
        place = {"number": self.number, "pci_address": self.pci_address}
        return {**place, "kind": self.kind, "what": self.what, "time": iso(self.time_seconds), "line": self.line}


Trouble = Union[Xid, Fault]
AnyTrouble = TypeVar("AnyTrouble", Xid, Fault, Trouble)


@dataclass(frozen=True)
class Evidence:
    """`readable` false: no kernel log could be read, and the absence of faults proves nothing. `why_not`: a sentence on what is not known."""

    since: str | None
    readable: bool
    xids: tuple[Xid, ...] = ()
    faults: tuple[Fault, ...] = ()
    why_not: str | None = None

    @property
    def hardware(self) -> tuple[Trouble, ...]:
        """What forbids a start until it was cured, oldest first."""
        stops: list[Trouble] = [xid for xid in self.xids if xid.kind == HARDWARE]
        return _in_order([*stops, *self.faults])

    @property
    def why(self) -> str | None:
        if not self.hardware:
            return None
        named = abridged([_place(fault) for fault in self.hardware])
        noun = "a hardware fault:" if len(self.hardware) == 1 else "hardware faults:"
        return f"The kernel log has {noun} {named}. Nothing was ended, and nothing may be started before that is cured."

    @property
    def next_step(self) -> str | None:
        if not self.hardware:
            return None
        later = utc(max(fault.time_seconds for fault in self.hardware) + 1)
        return f"{CURES[self._cure()]} If that was done since, name a later time in evidence_since, such as '{later}'."

    def sentence(self) -> str | None:
        """Why nothing is started and what to do next; None where nothing stands against it."""
        return f"{self.why} {self.next_step}" if self.why else None

    def as_dict(self) -> dict[str, Any]:
        return {
            "since": self.since,
            "readable": self.readable,
            "xids": [xid.as_dict() for xid in self.xids],
            "faults": [fault.as_dict() for fault in self.faults],
        }

    def _cure(self) -> str:
        numbers = {(fault.number, fault.pci_address) for fault in self.hardware if isinstance(fault, Xid)}
        # The state of the firmware that both leave was seen to outlive warm reboots.
        if any((119, place) in numbers and number == 154 for number, place in numbers):
            return xids.POWER_OFF
        order = list(CURES)
        return max((fault.cure for fault in self.hardware if fault.cure), key=order.index)


def read_evidence(log: KernelLog, pci_addresses: Collection[str] | None = None) -> Evidence:
    """The evidence of a log on the GPUs at these addresses ("0000:c1:00.0", any case, with or without domain and function); None: on all GPUs.

    Of what recurs on a GPU the newest is kept: a cure has to be later than that. Of the driver's wishes (154) only the last one holds.
    """
    selected = None if pci_addresses is None else {pci_address(address) for address in pci_addresses}
    found: dict[tuple[int, str, str], Xid] = {}
    entries = [entry for entry in log.entries if not OF_A_PROGRAM.search(entry.message)]
    for entry in entries:
        match = XID.search(entry.message)
        if match and _concerns(pci_address(match.group(1)), selected):
            number, place = int(match.group(2)), pci_address(match.group(1))
            meaning = meaning_of(number, match.group(3))
            line = entry.message[:LINE_CHARACTERS]
            found[number, place, "" if number == 154 else meaning.kind] = Xid(
                number, place, meaning.kind, meaning.what, meaning.cure, entry.time_seconds, line
            )
    lost = {xid.pci_address for xid in found.values() if xid.number == 79}
    faults: dict[tuple[str, str | None, str], Fault] = {}
    for fault in (*broken_kernel(entries), *broken_gpus(entries, selected)):
        said_by_xid = fault.kind == "bus" and fault.pci_address in lost
        if _concerns(fault.pci_address, selected) and not said_by_xid:
            faults[fault.kind, fault.pci_address, fault.what] = fault
    return Evidence(log.since, log.readable, _in_order(found.values()), _in_order(faults.values()), log.why_not)


def _in_order(troubles: Iterable[AnyTrouble]) -> tuple[AnyTrouble, ...]:
    return tuple(sorted(troubles, key=lambda trouble: trouble.time_seconds))


def _concerns(address: str | None, selected: Collection[str] | None) -> bool:
    return address is None or selected is None or address in selected


def _place(trouble: Trouble) -> str:
    where = f" of GPU {trouble.pci_address}" if trouble.pci_address else ""
    return f"{trouble.said}{where} at {utc(trouble.time_seconds)}"
