# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ends given processes, and them alone. Private to the collection, may change any time.

A process is held by its descriptor (pidfd) from before it is known again to its end, so no signal can reach another one that came to its number.
TERM once, KILL once: who is still there after that is told, not signalled again.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Protocol

from ..core.errors import ReleaseError
from ..observe.identity import Identity, Standing, lineage_of, read_identity, standing_of

_NOBODY = (errno.ESRCH, errno.EINVAL, errno.ENOENT)  # the latter two: the number is a thread's now
_NO_CALL = (errno.ENOSYS, errno.EPERM)  # EPERM: a filter of system calls that does not know this one


class ProcessHandles(Protocol):
    def now(self) -> float:
        """Seconds of the clock that `ended` goes by."""

    def lineage(self) -> Collection[int]:
        """Ourselves and all that started us."""

    def open(self, pid: int) -> int | None:
        """A descriptor of the process; None when there is none. Raises ReleaseError where processes cannot be held, or this one not be signalled."""

    def close(self, descriptor: int) -> None: ...

    def identity(self, pid: int) -> Identity | None: ...

    def send(self, descriptor: int, number: signal.Signals) -> None:
        """Raises ProcessLookupError when the process has ended, PermissionError when it is not ours to signal."""

    def ended(self, descriptors: Iterable[int], until: float) -> set[int]:
        """Those whose last thread has ended: as soon as there is one, and none at `until`."""

    def standing(self, pid: int) -> Standing | None: ...


class LocalProcesses:
    """Those of this machine, as far as our pid namespace shows them."""

    def now(self) -> float:
        return time.monotonic()

    def lineage(self) -> Collection[int]:
        return lineage_of(os.getpid())

    def open(self, pid: int) -> int | None:
        if not hasattr(os, "pidfd_open") or not hasattr(signal, "pidfd_send_signal"):
            raise ReleaseError(_unsafe("this Python was built without pidfd_open"))
        try:
            descriptor = os.pidfd_open(pid)
        except OSError as refusal:
            if refusal.errno in _NOBODY:
                return None
            if refusal.errno in _NO_CALL:
                raise ReleaseError(_unsafe(f"Linux {os.uname().release} refuses pidfd_open")) from refusal
            raise
        try:
            signal.pidfd_send_signal(descriptor, 0)  # sends nothing, only asks whether we may
        except OSError as refusal:
            os.close(descriptor)
            if isinstance(refusal, ProcessLookupError):
                return None
            if isinstance(refusal, PermissionError):
                raise ReleaseError(
                    f"Process {pid} may not be signalled by uid {os.geteuid()}. Nothing was signalled; run this as root (become: true)."
                ) from refusal
            raise
        return descriptor

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def identity(self, pid: int) -> Identity | None:
        return read_identity(pid)

    def send(self, descriptor: int, number: signal.Signals) -> None:
        signal.pidfd_send_signal(descriptor, number)

    def ended(self, descriptors: Iterable[int], until: float) -> set[int]:
        poll = select.poll()
        for descriptor in descriptors:
            poll.register(descriptor, select.POLLIN)
        return {descriptor for descriptor, event in poll.poll(max(0.0, until - self.now()) * 1000) if event}

    def standing(self, pid: int) -> Standing | None:
        return standing_of(pid)


def _unsafe(seen: str) -> str:
    return (
        f"Processes cannot be ended safely here: {seen}, and by its number alone another process could be hit. Nothing was signalled. "
        "Linux 5.3 or newer was expected, and a container that lets pidfd_open and pidfd_send_signal through."
    )


@dataclass(frozen=True)
class Outcome:
    """`outcome`: exited, survived_kill, vanished, changed_identity or protected. `signals`: those that were sent, in order.

    `vanished`: gone before the first signal. `changed_identity`: another start time, control group, user or executable than when it was listed, seen
    before TERM (no signals) or before KILL (TERM alone). `protected`: PID 1, ourselves or one that started us. The rest tells of a survivor: letter of
    its state, and kernel function that it waits in.
    """

    outcome: str
    signals: tuple[str, ...] = ()
    wait_channel: str | None = None
    state: str | None = None


def end(
    identities: Iterable[Identity],
    grace_seconds: float,
    deadline: float,
    processes: ProcessHandles | None = None,
) -> dict[int, Outcome]:
    """Ends processes; the result is by pid. `deadline` is a time of time.monotonic(), and it waits for survivors until then.

    KILL comes after the grace, and early enough to leave half of the time for what follows: the kernel gives back hundreds of GB of pinned memory in
    tens of seconds. Raises ReleaseError before the first signal when a process cannot be held or may not be signalled, or when no time is left.
    """
    wanted = {identity.pid: identity for identity in identities}
    door = processes if processes is not None else LocalProcesses()
    started = door.now()
    if wanted and started >= deadline:
        raise ReleaseError(
            f"No time is left to end {len(wanted)} processes: the deadline went by while they were looked for. "
            "Nothing was signalled; raise deadline_seconds."
        )
    work = _Work(door)
    try:
        work.hold(wanted)
        work.signal_all(signal.SIGTERM)
        work.wait(min(started + grace_seconds, (started + deadline) / 2))
        work.signal_all(signal.SIGKILL)
        work.wait(deadline)
        work.tell_survivors()
    finally:
        work.close()
    return work.outcomes


class _Work:
    """The processes that still live, by descriptor, and what became of the others."""

    def __init__(self, door: ProcessHandles) -> None:
        self.door = door
        self.living: dict[int, Identity] = {}
        self.outcomes: dict[int, Outcome] = {}
        self.sent: dict[int, tuple[str, ...]] = {}
        self.descriptors: list[int] = []

    def hold(self, wanted: dict[int, Identity]) -> None:
        spared = self.door.lineage()
        for pid, identity in wanted.items():
            descriptor = None if pid in spared else self.door.open(pid)
            if descriptor is None:
                self.outcomes[pid] = Outcome("protected" if pid in spared else "vanished")
            else:
                self.living[descriptor] = identity
                self.descriptors.append(descriptor)

    def signal_all(self, number: signal.Signals) -> None:
        """To each that is still the one that was listed."""
        for descriptor, listed in list(self.living.items()):
            now = self.door.identity(listed.pid)
            # Asked after the identity was read: it was read of the process that we hold if that one lives even now.
            if self.door.ended((descriptor,), self.door.now()):
                self._ended(descriptor)
            elif now is None or not is_same(listed, now):
                self._finish(descriptor, "changed_identity")
            else:
                self._send(descriptor, number)

    def wait(self, until: float) -> None:
        while self.living:
            ended = self.door.ended(self.living, until)
            if not ended:
                return
            for descriptor in ended:
                self._ended(descriptor)

    def tell_survivors(self) -> None:
        for descriptor, listed in list(self.living.items()):
            standing = self.door.standing(listed.pid)
            if self.door.ended((descriptor,), self.door.now()):
                self._ended(descriptor)
            else:
                self._finish(descriptor, "survived_kill", standing)

    def close(self) -> None:
        for descriptor in self.descriptors:
            self.door.close(descriptor)

    def _send(self, descriptor: int, number: signal.Signals) -> None:
        pid = self.living[descriptor].pid
        try:
            self.door.send(descriptor, number)
        except ProcessLookupError:
            self._ended(descriptor)
        except PermissionError:  # it could be signalled when it was opened, so it took another user since
            self._finish(descriptor, "changed_identity")
        else:
            self.sent[pid] = (*self.sent.get(pid, ()), number.name[3:])

    def _ended(self, descriptor: int) -> None:
        self._finish(descriptor, "exited" if self.living[descriptor].pid in self.sent else "vanished")

    def _finish(self, descriptor: int, outcome: str, standing: Standing | None = None) -> None:
        pid = self.living.pop(descriptor).pid
        told = (standing.wait_channel, standing.state) if standing else (None, None)
        self.outcomes[pid] = Outcome(outcome, self.sent.get(pid, ()), *told)


def is_same(listed: Identity, now: Identity) -> bool:
    """Whether a process is still the one that was listed. One that ends loses its executable, and its group in version 1: neither is a change."""
    if (now.pid, now.start_ticks, now.uid) != (listed.pid, listed.start_ticks, listed.uid):
        return False
    ends = now.executable is None
    same_group = now.control_group == listed.control_group or (ends and now.control_group == "/")
    return same_group and (ends or now.executable == listed.executable)
