# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real processes end as they were told to, and the kernel saw nobody else signalled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import ReleaseError
from ansible_collections.blackwell.inference.plugins.module_utils.observe.identity import (
    Identity,
    lineage_of,
    read_identity,
)
from ansible_collections.blackwell.inference.plugins.module_utils.release.termination import (
    LocalProcesses,
    Outcome,
    end,
)
from ansible_collections.blackwell.inference.tests.doubles.companions import DIES_WITH_US
from ansible_collections.blackwell.inference.tests.integration.release.victims import OTHER_PROGRAM, Victim, victim
from ansible_collections.blackwell.inference.tests.signals.tracer import signals_traced
from ansible_collections.blackwell.inference.tests.testhost import cgroup

TREE = Path(__file__).parents[3] / ".tree"
OWN_PID_NAMESPACE = (*DIES_WITH_US, "unshare", "--pid", "--fork", "--kill-child")
GROUP = "killer-test"
LONG = 60.0  # an end that is waited for comes at once
SHORT = 0.4  # time that has to go by


@pytest.fixture(autouse=True)
def bystanders() -> Iterator[list[Victim]]:
    """Of the same user, program and group as a victim, and in its session: they outlive all that is done here."""
    with victim("plain") as plain, victim("leader_exits") as headless, victim("double_fork") as orphan:
        yield [plain, headless, orphan]
        assert [bystander.state for bystander in (plain, headless, orphan)] == ["S", "Z", "S"]


@pytest.fixture
def own_group() -> Iterator[Path]:
    for name in cgroup.names(GROUP):
        if not Path(f"/proc/{name.rpartition('-')[2]}").exists():
            cgroup.remove(name)
    path = cgroup.unified() / f"{GROUP}-{os.getpid()}"
    path.mkdir()
    yield path
    cgroup.remove(path.name)


def listed(pid: int) -> Identity:
    identity = read_identity(pid)
    assert identity is not None
    return identity


def until(true: Callable[[], bool]) -> None:
    end_of_patience = time.monotonic() + LONG
    while not true():
        assert time.monotonic() < end_of_patience
        time.sleep(0.005)


def end_traced(
    identities: Sequence[Identity], grace_seconds: float = LONG, total_seconds: float = 3 * LONG
) -> dict[int, Outcome]:
    """What was ended and how; that is what the kernel saw this process send, one for one."""
    with signals_traced() as trace:
        outcomes = end(identities, grace_seconds, time.monotonic() + total_seconds)
    seen = [(sent.name, sent.target_pid) for sent in trace.sent() if sent.sender_pid == os.getpid()]
    assert sorted(seen) == sorted((name, pid) for pid, outcome in outcomes.items() for name in outcome.signals)
    return outcomes


@pytest.mark.parametrize(
    ("kind", "before", "grace_seconds", "signals"),
    [
        ("plain", (), LONG, ("TERM",)),
        ("cleans_up", (), LONG, ("TERM",)),
        ("double_fork", (), LONG, ("TERM",)),
        ("leader_exits", (), LONG, ("TERM",)),
        ("ignores_term", (), SHORT, ("TERM", "KILL")),
        ("plain", OWN_PID_NAMESPACE, SHORT, ("TERM", "KILL")),  # the first of a namespace hears only what it asked for
        ("cleans_up", OWN_PID_NAMESPACE, LONG, ("TERM",)),
    ],
)
def test_it_exits(kind: str, before: Sequence[str], grace_seconds: float, signals: tuple[str, ...]) -> None:
    with victim(kind, before) as target:
        assert end_traced([listed(target.pid)], grace_seconds) == {target.pid: Outcome("exited", signals)}
        assert not target.lives


def test_several_at_once_each_with_what_it_needs() -> None:
    with victim("plain") as soft, victim("ignores_term") as hard, victim("leader_exits") as headless:
        identities = [listed(target.pid) for target in (hard, soft, headless)]
        assert end_traced(identities, SHORT) == {
            soft.pid: Outcome("exited", ("TERM",)),
            hard.pid: Outcome("exited", ("TERM", "KILL")),
            headless.pid: Outcome("exited", ("TERM",)),
        }
        assert end_traced(identities) == {
            soft.pid: Outcome("vanished"),
            hard.pid: Outcome("vanished"),
            headless.pid: Outcome("vanished"),
        }


def test_a_zombie_with_a_live_thread_has_not_ended() -> None:
    """The descriptor tells of the last thread, not of the leader."""
    with victim("leader_exits") as target:
        assert target.state == "Z"
        descriptor = os.pidfd_open(target.pid)
        try:
            processes = LocalProcesses()
            assert processes.ended([descriptor], processes.now() + SHORT) == set()
            target.release()
            assert processes.ended([descriptor], processes.now() + LONG) == {descriptor}
        finally:
            os.close(descriptor)


def test_gone_before_the_first_signal() -> None:
    with victim("plain") as target:
        identity = listed(target.pid)
        target.release()
        assert end_traced([identity]) == {target.pid: Outcome("vanished")}


def test_ended_but_not_yet_taken_by_its_parent() -> None:
    with victim("plain") as target:
        identity = listed(target.pid)
        assert target.process.stdin is not None
        target.process.stdin.close()
        until(lambda: target.state == "Z")
        assert end_traced([identity]) == {target.pid: Outcome("vanished")}


def test_another_program_since_it_was_listed() -> None:
    with victim("becomes_another_program") as target:
        identity = listed(target.pid)
        target.tell()
        until(lambda: os.path.samefile(f"/proc/{target.pid}/exe", OTHER_PROGRAM))
        assert end_traced([identity]) == {target.pid: Outcome("changed_identity")}
        assert target.lives


def test_another_program_of_a_thread_whose_leader_had_exited() -> None:
    with victim("leader_exits") as target:
        identity = listed(target.pid)
        assert identity.executable is None
        target.tell()
        until(lambda: target.lives)
        assert listed(target.pid).start_ticks == identity.start_ticks
        assert end_traced([identity]) == {target.pid: Outcome("changed_identity")}
        assert target.lives


def test_another_program_since_term() -> None:
    with victim("becomes_another_program_on_term") as target:
        assert end_traced([listed(target.pid)], SHORT) == {target.pid: Outcome("changed_identity", ("TERM",))}
        assert target.lives


def test_another_user_since_it_was_listed() -> None:
    with victim("becomes_another_user") as target:
        identity = listed(target.pid)
        target.tell()
        until(lambda: listed(target.pid).uid == 65534)
        assert end_traced([identity]) == {target.pid: Outcome("changed_identity")}
        assert target.lives


def test_another_control_group_since_it_was_listed(own_group: Path) -> None:
    with victim("plain") as target:
        identity = listed(target.pid)
        (own_group / "cgroup.procs").write_text(str(target.pid))
        assert end_traced([identity]) == {target.pid: Outcome("changed_identity")}
        assert target.lives
        again = listed(target.pid)
        assert again.control_group == f"{identity.control_group.rstrip('/')}/{own_group.name}"
        assert end_traced([again]) == {target.pid: Outcome("exited", ("TERM",))}


def test_unkillable() -> None:
    with victim("stuck") as target:
        until(lambda: target.state == "S")
        identity = listed(target.pid)
        outcome = end_traced([identity], SHORT, 4 * SHORT)[target.pid]
        assert outcome == Outcome("survived_kill", ("TERM", "KILL"), outcome.wait_channel, "D")
        assert outcome.wait_channel == Path(f"/proc/{target.pid}/wchan").read_text()
        target.release()
        until(lambda: target.state is None)


def test_never_ourselves_nor_what_started_us() -> None:
    identities = [listed(pid) for pid in lineage_of(os.getpid())]
    assert {1, os.getpid(), os.getppid()} <= {identity.pid for identity in identities}
    assert end_traced(identities) == {identity.pid: Outcome("protected") for identity in identities}


REUSED = """
import json, os, time
from ansible_collections.blackwell.inference.plugins.module_utils.observe.identity import read_identity
from ansible_collections.blackwell.inference.plugins.module_utils.release.termination import end

def start(name):
    held, hold = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(hold)
        open("/proc/self/comm", "w").write(name)
        os.read(held, 1)
        os._exit(0)
    while open(f"/proc/{pid}/comm").read().strip() != name:
        pass
    return pid, hold

first, hold = start("listed")
listed = read_identity(first)
os.close(hold)
os.waitpid(first, 0)
while time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK") < listed.start_ticks + 2:
    pass
open("/proc/sys/kernel/ns_last_pid", "w").write(str(first - 1))
second, hold = start("reused")
endings = [end([listed], 30, time.monotonic() + 60)[first]]
endings.append(end([read_identity(second)], 30, time.monotonic() + 60)[second])
os.waitpid(second, 0)  # what is left of a namespace is killed when its first process ends
print(json.dumps([first == second, [(ending.outcome, ending.signals) for ending in endings]]))
"""


def test_a_number_that_came_again_is_not_hit() -> None:
    """In a pid namespace of its own, where the next number can be chosen. The second end shows that the kernel's word would have been heard."""
    with signals_traced() as trace:
        done = subprocess.run(
            [*OWN_PID_NAMESPACE, "--mount-proc", sys.executable, "-c", REUSED],
            env={**os.environ, "PYTHONPATH": str(TREE)},
            capture_output=True,
            check=True,
            timeout=60,
        )
    assert json.loads(done.stdout) == [True, [["changed_identity", []], ["exited", ["TERM"]]]]
    names = [(sent.name, sent.target_name) for sent in trace.sent() if sent.target_name in ("listed", "reused")]
    assert names == [("TERM", "reused")]


REFUSED = """
import os, sys, time
from ansible_collections.blackwell.inference.plugins.module_utils.observe.identity import read_identity
from ansible_collections.blackwell.inference.plugins.module_utils.release.termination import end
from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import ReleaseError
identities = [read_identity(int(pid)) for pid in sys.argv[1:]]
os.setresuid(65534, 65534, 65534)
try:
    end(identities, 0, time.monotonic() + 60)
except ReleaseError as refusal:
    print(refusal)
"""


def test_nobody_is_signalled_when_one_may_not_be() -> None:
    with victim("plain") as ours, victim("becomes_another_user") as other:
        other.tell()
        until(lambda: listed(other.pid).uid == 65534)
        with signals_traced() as trace:
            done = subprocess.run(
                [sys.executable, "-c", REFUSED, str(other.pid), str(ours.pid)],
                env={**os.environ, "PYTHONPATH": str(TREE)},
                capture_output=True,
                check=True,
                text=True,
                timeout=60,
            )
        assert done.stdout == (
            f"Process {ours.pid} may not be signalled by uid 65534. Nothing was signalled; run this as root (become: true).\n"
        )
        assert [sent for sent in trace.sent() if sent.target_pid in (ours.pid, other.pid)] == []


def test_no_time_is_no_reason_to_kill_without_grace() -> None:
    with victim("plain") as target:
        with pytest.raises(ReleaseError):
            end_traced([listed(target.pid)], total_seconds=-1)
        assert target.lives
