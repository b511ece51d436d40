# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel log says of GPUs: an application's fault, or one of the hardware, Xid or not. Private to the collection, may change any time."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, Union

from ..core.text import abridged, iso, utc
from ..observe.kernel_log import KernelEntry, KernelLog
from ..observe.pci import pci_address
from . import xids
from .xids import CURES, HARDWARE, meaning_of

ADDRESS = r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}"
LINE_CHARACTERS = 300

XID = re.compile(rf"NVRM: Xid \((?:PCI:)?({ADDRESS})[^)]*\): (\d+)(?:,|$)(.*)", re.DOTALL)
NVRM_ADDRESS = re.compile(rf"NVRM: (?:GPU|The NVIDIA GPU) ({ADDRESS})\.\d")
NVRM_NUMBER = re.compile(r"\bGPU(\d+)\b")
PCI_DEVICE = re.compile(rf"(?:^|\s)(?P<driver>\S+) (?P<address>{ADDRESS})\.\d: ")
HEARTBEAT_STOPPED = re.compile(r"HeartbeatTimedOut: .* heartbeat [1-9]")
"""A heartbeat of 0 was never there: drivers of 2026 write that for months on cards that work."""

OF_A_PROGRAM = re.compile(r"\[\d+\]: (?:segfault at |unhandled )|^traps: ")
"""What the kernel says of a program that broke holds two names that anybody may choose, those of the process and of its file."""

BROKEN = re.compile(r"^(?:watchdog: )?BUG: |^Oops\b|^general protection fault")
FRAME = re.compile(r"\+0x[0-9a-f]+/0x[0-9a-f]+ \[(nvidia(?:_\w+)?)[ \]]")
GUESSED_FRAME = re.compile(r"^\s*\? ")
GAVE_UP = re.compile(r"not ready \d+ms after .*; giving up")
"""The kernel, of a device that did not come back from a reset of whatever kind."""
BROKEN_SECONDS = 2.0
"""A broken kernel prints its registers and its call trace at once, also through a slow serial console."""


@dataclass(frozen=True)
class Fault:
    """What the kernel or the driver says of a broken GPU beside Xids; `pci_address` None: it does not say which, so it counts for all.

    `kind`: "oops" (the kernel broke in the driver), "gsp" (firmware), "reset" (the GPU did not come back from one) or "bus".
    """

    kind: str
    pci_address: str | None
    what: str
    cure: str
    time_seconds: float
    line: str

    @property
    def text(self) -> str:
        return self.what

    def as_dict(self) -> dict[str, Any]:
        visibility = {"kind": self.kind, "pci_address": self.pci_address}
        return {**visibility, "what": self.what, "time": iso(self.time_seconds), "line": self.line}


def broken_gpus(entries: Sequence[KernelEntry], selected: Collection[str] | None) -> Iterator[Fault]:
    """Without addresses, a device that does not come back from a reset counts only while the nvidia driver has it: another may be no GPU."""
    numbers = _driver_numbers(entries)
    for entry in entries:
        message, device = entry.message, PCI_DEVICE.search(entry.message)
        named, number = NVRM_ADDRESS.search(message), NVRM_NUMBER.search(message)
        address = pci_address(named.group(1)) if named else numbers.get(number.group(1)) if number else None
        rest = (entry.time_seconds, message[:LINE_CHARACTERS])
        if "unexpected WPR2 already up" in message:  # longer than the name of a process, which other lines quote
            yield Fault("gsp", address, "GSP firmware of an earlier start is still in the GPU", xids.POWER_OFF, *rest)
        elif HEARTBEAT_STOPPED.search(message):
            yield Fault("gsp", address, "GSP firmware stopped its heartbeat", xids.RESET, *rest)
        elif "encountered global fatal error" in message:
            yield Fault("oops", address, "nvidia_uvm met a fatal error", xids.REBOOT, *rest)
        elif "fallen off the bus" in message and not XID.search(message):
            yield Fault("bus", address, "GPU has fallen off the bus", xids.POWER_OFF, *rest)
        elif device and (selected is not None or device["driver"] == "nvidia"):
            visibility = pci_address(device["address"])
            if GAVE_UP.search(message):
                yield Fault("reset", visibility, "GPU did not come back from a reset", xids.POWER_OFF, *rest)
            elif "device inaccessible" in message:
                yield Fault("bus", visibility, "GPU does not answer on the bus", xids.POWER_OFF, *rest)


def _driver_numbers(entries: Sequence[KernelEntry]) -> dict[str, str]:
    """The driver's own numbers of GPUs ("GPU6"), which are not NVML's, to addresses, as far as a line names both."""
    pairs = ((XID.search(entry.message), NVRM_NUMBER.search(entry.message)) for entry in entries)
    return {number.group(1): pci_address(xid.group(1)) for xid, number in pairs if xid and number}


def broken_kernel(entries: Sequence[KernelEntry]) -> Iterator[Fault]:
    """BUG or Oops whose call trace goes through the driver. Frames with a question mark are what lay on the stack by chance."""
    start: KernelEntry | None = None
    for entry in entries:
        if start is not None and (
            entry.time_seconds - start.time_seconds > BROKEN_SECONDS or "end trace" in entry.message
        ):
            start = None
        frame = FRAME.search(entry.message)
        if start is None and BROKEN.search(entry.message):
            start = entry
        elif start is not None and frame and not GUESSED_FRAME.search(entry.message):
            how = "is stuck" if "lockup" in start.message else "broke"
            line = start.message[:LINE_CHARACTERS]
            yield Fault("oops", None, f"kernel {how} in {frame.group(1)}", xids.REBOOT, start.time_seconds, line)
            start = None


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
    def text(self) -> str:
        return f"Xid {self.number} ({self.what})"

    def as_dict(self) -> dict[str, Any]:
        visibility = {"number": self.number, "pci_address": self.pci_address}
        return {**visibility, "kind": self.kind, "what": self.what, "time": iso(self.time_seconds), "line": self.line}


Trouble = Union[Xid, Fault]
AnyTrouble = TypeVar("AnyTrouble", Xid, Fault, Trouble)


@dataclass(frozen=True)
class KernelEvidence:
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
        if any((119, visibility) in numbers and number == 154 for number, visibility in numbers):
            return xids.POWER_OFF
        order = list(CURES)
        return max((fault.cure for fault in self.hardware if fault.cure), key=order.index)


def read_evidence(log: KernelLog, pci_addresses: Collection[str] | None = None) -> KernelEvidence:
    """The evidence of a log on the GPUs at these addresses ("0000:c1:00.0", any case, with or without domain and function); None: on all GPUs.

    Of what recurs on a GPU the newest is kept: a cure has to be later than that. Of the driver's wishes (154) only the last one holds.
    """
    selected = None if pci_addresses is None else {pci_address(address) for address in pci_addresses}
    found: dict[tuple[int, str, str], Xid] = {}
    entries = [entry for entry in log.entries if not OF_A_PROGRAM.search(entry.message)]
    for entry in entries:
        match = XID.search(entry.message)
        if match and _concerns(pci_address(match.group(1)), selected):
            number, visibility = int(match.group(2)), pci_address(match.group(1))
            meaning = meaning_of(number, match.group(3))
            line = entry.message[:LINE_CHARACTERS]
            found[number, visibility, "" if number == 154 else meaning.kind] = Xid(
                number, visibility, meaning.kind, meaning.what, meaning.cure, entry.time_seconds, line
            )
    lost = {xid.pci_address for xid in found.values() if xid.number == 79}
    faults: dict[tuple[str, str | None, str], Fault] = {}
    for fault in (*broken_kernel(entries), *broken_gpus(entries, selected)):
        said_by_xid = fault.kind == "bus" and fault.pci_address in lost
        if _concerns(fault.pci_address, selected) and not said_by_xid:
            faults[fault.kind, fault.pci_address, fault.what] = fault
    return KernelEvidence(log.since, log.readable, _in_order(found.values()), _in_order(faults.values()), log.why_not)


def _in_order(troubles: Iterable[AnyTrouble]) -> tuple[AnyTrouble, ...]:
    return tuple(sorted(troubles, key=lambda trouble: trouble.time_seconds))


def _concerns(address: str | None, selected: Collection[str] | None) -> bool:
    return address is None or selected is None or address in selected


def _place(trouble: Trouble) -> str:
    where = f" of GPU {trouble.pci_address}" if trouble.pci_address else ""
    return f"{trouble.text}{where} at {utc(trouble.time_seconds)}"
