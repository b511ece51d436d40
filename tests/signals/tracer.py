# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who sent which signal to whom, as the kernel saw it, while a test ran.

    with signals_traced() as trace:
        ...
    trace.sent()

Needs root, tracefs and the initial pid namespace, whose numbers the kernel tells: those of processes in containers of this machine too. Where that is not
to be had it raises TracerError: a test that cannot see must fail. Tracefs is mounted on no path, so it is gone with the process that traces; the instance
that a killed process left is removed by the next one that traces.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.blackwell.inference.plugins.module_utils.observe.identity import read_identity

INITIAL_PID_NAMESPACE = "pid:[4026531836]"
PREFIX = "blackwell-signals"
BUFFER_KIB = 1024  # for each CPU: some 20,000 signals
_FSOPEN, _FSCONFIG, _FSMOUNT = 430, 431, 432  # the same on all architectures
_CLOSE_ON_EXEC, _CREATE = 1, 6
_EVENT = re.compile(
    r" *(?P<sender_name>.{1,15})-(?P<sender_pid>\d+)\s+(?:\([ \d-]+\)\s+)?\[\d+\]\s+\S+\s+[\d.]+: signal_generate: "
    r"sig=(?P<signal>\d+) errno=-?\d+ code=(?P<code>-?\d+) comm=(?P<target_name>.{0,15}) pid=(?P<target_pid>\d+) grp=\d res=\d\n",
    re.DOTALL,  # a name may be anything of 15 bytes, a line end too
)
_counter = itertools.count()


class TracerError(Exception):
    """The signals cannot be seen, or not all of them."""


@dataclass(frozen=True)
class Sent:
    """One signal. `sender_pid` is that of the sending thread; `code` is 0 or less when a process sent it, more when the kernel did (SIGCHLD)."""

    signal: int
    code: int
    sender_pid: int
    sender_name: str
    target_pid: int
    target_name: str

    @property
    def name(self) -> str:
        return signal.Signals(self.signal).name.removeprefix("SIG")


class Trace:
    def __init__(self, instance: Path) -> None:
        self._instance = instance
        self._kept: list[Sent] | None = None

    def sent(self) -> list[Sent]:
        """All signals since the start, in order; after the end those until then. Raises TracerError when some were lost."""
        return list(self._kept) if self._kept is not None else self._read()

    def keep(self) -> None:
        (self._instance / "tracing_on").write_text("0")
        self._kept = self._read()

    def _read(self) -> list[Sent]:
        for stats in self._instance.glob("per_cpu/cpu*/stats"):
            lost = {
                line for line in stats.read_text().splitlines() if re.match(r"(overrun|dropped events): *[1-9]", line)
            }
            if lost:
                raise TracerError(f"The trace of signals is not whole ({', '.join(lost)}): raise BUFFER_KIB.")
        return parse((self._instance / "trace").read_text(errors="replace"))


@contextmanager
def signals_traced() -> Iterator[Trace]:
    if os.readlink("/proc/self/ns/pid") != INITIAL_PID_NAMESPACE:
        raise TracerError(
            "Signals are traced by numbers of the initial pid namespace, and this is another: run the test outside of containers."
        )
    with _tracefs() as root:
        remove_left_over(root)
        instance = root / "instances" / f"{PREFIX}-{_owner(os.getpid())}-{next(_counter)}"
        instance.mkdir()
        try:
            (instance / "buffer_size_kb").write_text(str(BUFFER_KIB))
            (instance / "events/signal/signal_generate/enable").write_text("1")
            trace = Trace(instance)
            yield trace
            trace.keep()
        finally:
            instance.rmdir()


def instances() -> list[str]:
    """Names of the instances of this tracer, of whomever."""
    with _tracefs() as root:
        return sorted(path.name for path in (root / "instances").glob(f"{PREFIX}-*"))


def remove_left_over(root: Path) -> None:
    """Instances whose process is gone; its pid and start time are in the name."""
    for path in (root / "instances").glob(f"{PREFIX}-*"):
        owner = path.name.removeprefix(f"{PREFIX}-").rpartition("-")[0]
        if owner != _owner(int(owner.partition("-")[0])):
            with suppress(FileNotFoundError):  # another one was faster
                path.rmdir()


def parse(text: str) -> list[Sent]:
    """Events of a file `trace`. A line that is no event could be a signal that is not seen, so it is an error."""
    sent = []
    at = 0
    while at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        if end > at + 1 and text[at] != "#":
            event = _EVENT.match(text, at)
            if event is None:
                raise TracerError(f"The trace of signals has a line that is not understood: {text[at:end]!r}")
            found = event.groupdict()
            numbers = {name: int(found[name]) for name in ("signal", "code", "sender_pid", "target_pid")}
            sent.append(Sent(**numbers, sender_name=found["sender_name"], target_name=found["target_name"]))
            end = event.end()
        at = end
    return sent


def _owner(pid: int) -> str | None:
    identity = read_identity(pid)
    return f"{pid}-{identity.start_ticks}" if identity else None


@contextmanager
def _tracefs() -> Iterator[Path]:
    """A mount that no path leads to but by its descriptor."""
    context = _call(_FSOPEN, b"tracefs", _CLOSE_ON_EXEC)
    try:
        _call(_FSCONFIG, context, _CREATE, None, None, 0)
        mount = _call(_FSMOUNT, context, _CLOSE_ON_EXEC, 0)
    finally:
        os.close(context)
    try:
        yield Path(f"/proc/self/fd/{mount}")
    finally:
        os.close(mount)


def _call(number: int, *arguments: bytes | int | None) -> int:
    result = int(ctypes.CDLL(None, use_errno=True).syscall(number, *arguments))
    if result < 0:
        raise TracerError(
            f"The kernel's signals cannot be traced: tracefs could not be mounted ({os.strerror(ctypes.get_errno())}). "
            "Root on a kernel with tracefs, not locked down, was expected; without it nobody can tell who was signalled."
        )
    return result
