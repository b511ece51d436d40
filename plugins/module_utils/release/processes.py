# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The door to processes that are to end: each is held by a descriptor of its own (pidfd). Private to the collection, may change any time."""

from __future__ import annotations

import errno
import os
import select
import signal
import time
from collections.abc import Collection, Iterable
from typing import Protocol

from ..core.errors import ReleaseError
from ..observe.holder import Identity
from ..observe.identity import Standing, lineage_of, read_identity, standing_of

_NOBODY = (errno.ESRCH, errno.EINVAL, errno.ENOENT)  # the latter two: the number is a thread's now
_NO_CALL = (errno.ENOSYS, errno.EPERM)  # EPERM: a filter of system calls that does not know this one


class Processes(Protocol):
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
