# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is sent when, by a clock of our own, and who counts as the process that was listed."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import ReleaseError
from ansible_collections.blackwell.inference.plugins.module_utils.observe.identity import Identity, Standing
from ansible_collections.blackwell.inference.plugins.module_utils.release.termination import (
    LocalProcesses,
    Outcome,
    end,
    is_same,
)

LISTED = Identity(100, 5000, "/system.slice/a.service", 998, "/usr/bin/python3")


@dataclass
class Scripted:
    """A process: seconds that it lives on after each signal, and who it is after it."""

    ends_after: dict[str, float] = field(default_factory=dict)
    becomes: dict[str, Identity] = field(default_factory=dict)
    refuses: dict[str, type[OSError]] = field(default_factory=dict)
    ends_at: float = float("inf")


class Host:
    """Processes by pid, whose descriptors are their pids. Waiting costs nothing but time of its own clock."""

    def __init__(self, **processes: Scripted) -> None:
        self.time = 1000.0
        self.processes = {int(name[1:]): process for name, process in processes.items()}
        self.identities = {pid: replace(LISTED, pid=pid) for pid in self.processes}
        self.sent: list[tuple[float, str, int]] = []
        self.open_descriptors: set[int] = set()

    def now(self) -> float:
        return self.time

    def lineage(self) -> Collection[int]:
        return (1, 77)

    def open(self, pid: int) -> int | None:
        if pid in self.processes:
            self.open_descriptors.add(pid)
        return pid if pid in self.processes else None

    def close(self, descriptor: int) -> None:
        self.open_descriptors.remove(descriptor)

    def identity(self, pid: int) -> Identity | None:
        return self.identities[pid]

    def send(self, descriptor: int, number: signal.Signals) -> None:
        process, name = self.processes[descriptor], number.name[3:]
        if name in process.refuses:
            raise process.refuses[name]
        self.sent.append((self.time, name, descriptor))
        process.ends_at = min(process.ends_at, self.time + process.ends_after.get(name, float("inf")))
        self.identities[descriptor] = process.becomes.get(name, self.identities[descriptor])

    def ended(self, descriptors: Iterable[int], until: float) -> set[int]:
        watched = {descriptor: self.processes[descriptor].ends_at for descriptor in descriptors}
        self.time = max(self.time, min([until, *watched.values()]))
        return {descriptor for descriptor, ends_at in watched.items() if ends_at <= self.time}

    def standing(self, pid: int) -> Standing | None:
        return Standing("D", "uvm_release")


def ended(host: Host, grace_seconds: float = 30, total_seconds: float = 180) -> dict[int, Outcome]:
    identities = [replace(LISTED, pid=pid) for pid in host.processes]
    outcomes = end(identities, grace_seconds, host.time + total_seconds, host)
    assert not host.open_descriptors
    return outcomes


@pytest.mark.parametrize(
    ("process", "expected", "sent"),
    [
        (Scripted({"TERM": 3}), Outcome("exited", ("TERM",)), [(0, "TERM")]),
        (Scripted({"KILL": 40}), Outcome("exited", ("TERM", "KILL")), [(0, "TERM"), (30, "KILL")]),
        (Scripted(), Outcome("survived_kill", ("TERM", "KILL"), "uvm_release", "D"), [(0, "TERM"), (30, "KILL")]),
        (Scripted(ends_at=0), Outcome("vanished"), []),
        (Scripted(refuses={"TERM": ProcessLookupError}), Outcome("vanished"), []),
        (Scripted(refuses={"KILL": ProcessLookupError}), Outcome("exited", ("TERM",)), [(0, "TERM")]),
        (Scripted(refuses={"TERM": PermissionError}), Outcome("changed_identity"), []),
        (
            Scripted(becomes={"TERM": replace(LISTED, pid=5, executable="/bin/other")}),
            Outcome("changed_identity", ("TERM",)),
            [(0, "TERM")],
        ),
        (
            Scripted({"KILL": 1}, becomes={"TERM": replace(LISTED, pid=5, executable=None)}),
            Outcome("exited", ("TERM", "KILL")),
            [(0, "TERM"), (30, "KILL")],
        ),
    ],
    ids=[
        "ends",
        "must be killed, and gives its memory back slowly",
        "stays",
        "has ended",
        "ends between our look and TERM",
        "ends between our look and KILL",
        "took another user between our look and TERM",
        "becomes another program in the grace",
        "exits and does not come to its end",
    ],
)
def test_one_process(process: Scripted, expected: Outcome, sent: list[tuple[float, str]]) -> None:
    host = Host(p5=process)
    assert ended(host) == {5: expected}
    assert [(when - 1000, name) for when, name, _pid in host.sent] == sent


def test_all_hear_term_before_anybody_is_waited_for_and_only_those_left_are_killed() -> None:
    host = Host(p5=Scripted({"KILL": 0}), p6=Scripted({"TERM": 9}), p7=Scripted({"TERM": 29}), p8=Scripted())
    assert {pid: outcome.outcome for pid, outcome in ended(host).items()} == {
        5: "exited",
        6: "exited",
        7: "exited",
        8: "survived_kill",
    }
    assert [(when - 1000, name, pid) for when, name, pid in host.sent] == [
        *((0, "TERM", pid) for pid in (5, 6, 7, 8)),
        *((30, "KILL", pid) for pid in (5, 8)),
    ]
    assert host.time == 1180


def test_it_does_not_wait_longer_than_somebody_lives() -> None:
    host = Host(p5=Scripted({"TERM": 3}), p6=Scripted({"TERM": 4}))
    ended(host)
    assert host.time == 1004


def test_half_of_the_time_is_left_for_what_follows_kill() -> None:
    host = Host(p5=Scripted({"KILL": 9}))
    assert ended(host, grace_seconds=30, total_seconds=20) == {5: Outcome("exited", ("TERM", "KILL"))}
    assert [when - 1000 for when, _name, _pid in host.sent] == [0, 10]


def test_nobody_of_our_own_line_is_touched() -> None:
    host = Host(p1=Scripted(), p77=Scripted(), p5=Scripted({"TERM": 0}))
    assert ended(host) == {1: Outcome("protected"), 77: Outcome("protected"), 5: Outcome("exited", ("TERM",))}


def test_one_that_is_gone() -> None:
    host = Host()
    assert end([LISTED], 30, host.time + 9, host) == {100: Outcome("vanished")}


def test_nobody_to_end() -> None:
    host = Host()
    assert end([], 30, host.time - 1, host) == {}


def test_no_time_is_left() -> None:
    host = Host(p5=Scripted(), p6=Scripted())
    with pytest.raises(ReleaseError) as refusal:
        ended(host, total_seconds=0)
    assert str(refusal.value) == (
        "No time is left to end 2 processes: the deadline went by while they were looked for. "
        "Nothing was signalled; raise deadline_seconds."
    )
    assert host.sent == []


def test_descriptors_are_closed_when_one_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(p5=Scripted(), p6=Scripted())
    first = host.open

    def open_first_only(pid: int) -> int | None:
        if pid == 6:
            raise ReleaseError("no")
        return first(pid)

    monkeypatch.setattr(host, "open", open_first_only)
    with pytest.raises(ReleaseError):
        end([replace(LISTED, pid=pid) for pid in (5, 6)], 30, host.time + 9, host)
    assert (host.open_descriptors, host.sent) == (set(), [])


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({}, True),
        ({"start_ticks": 5001}, False),
        ({"uid": 0}, False),
        ({"control_group": "/system.slice/b.service"}, False),
        ({"control_group": "/"}, False),
        ({"executable": "/usr/bin/python3.13"}, False),
        ({"executable": None}, True),
        ({"executable": None, "control_group": "/"}, True),
        ({"executable": None, "control_group": "/system.slice/b.service"}, False),
        ({"executable": None, "uid": 0}, False),
    ],
)
def test_the_same_process(change: dict[str, object], same: bool) -> None:
    assert is_same(LISTED, replace(LISTED, **change)) is same  # type: ignore[arg-type]


def test_what_had_no_program_and_has_one_is_another() -> None:
    """A thread whose leader has exited may become another program under the leader's number."""
    assert not is_same(replace(LISTED, executable=None), LISTED)


UNSAFE = (
    "Processes cannot be ended safely here: {}, and by its number alone another process could be hit. Nothing was signalled. "
    "Linux 5.3 or newer was expected, and a container that lets pidfd_open and pidfd_send_signal through."
)


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EPERM])
def test_a_kernel_without_descriptors_of_processes(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def refuse(_pid: int) -> int:
        raise OSError(code, "")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    with pytest.raises(ReleaseError) as refusal:
        LocalProcesses().open(os.getpid())
    assert str(refusal.value) == UNSAFE.format(f"Linux {os.uname().release} refuses pidfd_open")


@pytest.mark.parametrize(("module", "name"), [(os, "pidfd_open"), (signal, "pidfd_send_signal")])
def test_a_python_without_descriptors_of_processes(monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> None:
    monkeypatch.delattr(module, name)
    with pytest.raises(ReleaseError) as refusal:
        LocalProcesses().open(os.getpid())
    assert str(refusal.value) == UNSAFE.format("this Python was built without pidfd_open")


@pytest.mark.parametrize("code", [errno.ESRCH, errno.EINVAL, errno.ENOENT])
def test_a_number_that_is_no_process(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def refuse(_pid: int) -> int:
        raise OSError(code, "")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    assert LocalProcesses().open(os.getpid()) is None
