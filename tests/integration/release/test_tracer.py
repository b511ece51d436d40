# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tracer of signals sees what the kernel sees, and leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.tests.doubles.companions import DIES_WITH_US
from ansible_collections.blackwell.inference.tests.signals import tracer
from ansible_collections.blackwell.inference.tests.signals.tracer import TracerError, instances, signals_traced

TREE = Path(__file__).parents[3] / ".tree"
TRACES = """
from ansible_collections.blackwell.inference.tests.signals.tracer import signals_traced
with signals_traced():
    print("tracing", flush=True)
    input()
"""
IN_A_NAMESPACE = """
import os, signal
ready, wait = os.pipe(), os.pipe()
child = os.fork()
if not child:
    open("/proc/self/comm", "w").write("tr-victim")
    os.write(ready[1], b"1")
    os.read(wait[0], 1)
os.read(ready[0], 1)
os.kill(child, signal.SIGUSR2)
os.waitpid(child, 0)
"""


def ours() -> list[str]:
    return [name for name in instances() if name.startswith(f"{tracer.PREFIX}-{os.getpid()}-")]


def test_sees_who_signals_whom() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as target, signals_traced() as trace:
        target.send_signal(signal.SIGUSR1)
        seen_early = trace.sent()
        target.wait()
    (sent,) = [sent for sent in seen_early if sent.target_pid == target.pid]
    assert (sent.name, sent.code, sent.sender_pid) == ("USR1", 0, os.getpid())
    assert sent in trace.sent()
    (told,) = [sent for sent in trace.sent() if sent.sender_pid == target.pid and sent.target_pid == os.getpid()]
    assert told.name == "CHLD"
    assert told.code > 0


def test_sees_into_other_pid_namespaces() -> None:
    namespace = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
    with signals_traced() as trace:
        subprocess.run([*DIES_WITH_US, *namespace, sys.executable, "-c", IN_A_NAMESPACE], check=True, timeout=60)
    assert [(sent.name, sent.code) for sent in trace.sent() if sent.target_name == "tr-victim"] == [("USR2", 0)]


def test_leaves_no_instance_and_no_mount() -> None:
    mounts = Path("/proc/self/mountinfo").read_text()
    with signals_traced():
        assert len(ours()) == 1
        assert Path("/proc/self/mountinfo").read_text() == mounts
    assert ours() == []
    with pytest.raises(ZeroDivisionError), signals_traced():
        raise ZeroDivisionError
    assert ours() == []


def test_removes_what_a_killed_run_left() -> None:
    with subprocess.Popen(
        [*DIES_WITH_US, sys.executable, "-c", TRACES],
        env={**os.environ, "PYTHONPATH": str(TREE)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"tracing\n"
        left = {name for name in instances() if name.startswith(f"{tracer.PREFIX}-{other.pid}-")}
        assert len(left) == 1
        with signals_traced():
            assert left <= set(instances())  # its process lives
        other.kill()
    with signals_traced():
        assert not left & set(instances())


def test_a_trace_that_lost_signals_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracer, "BUFFER_KIB", 4)
    with signals_traced() as trace:
        for _time in range(5000):
            os.kill(os.getpid(), signal.SIGURG)  # ignored by default
        with pytest.raises(
            TracerError, match=r"^The trace of signals is not whole \(overrun: \d+\): raise BUFFER_KIB\.$"
        ):
            trace.sent()
        monkeypatch.setattr(trace, "_kept", [])
        monkeypatch.setattr(trace, "keep", lambda: None)
    assert ours() == []


def test_without_tracefs_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracer, "_FSOPEN", -1)
    with pytest.raises(TracerError) as refusal, signals_traced():
        pass
    assert str(refusal.value) == (
        "The kernel's signals cannot be traced: tracefs could not be mounted (Function not implemented). "
        "Root on a kernel with tracefs, not locked down, was expected; without it nobody can tell who was signalled."
    )
