# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Talking to a process that may fall silent: deadlines, endings, and that nothing is left behind."""

from __future__ import annotations

import os
import sys
import time
from types import SimpleNamespace

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.nvml import session
from ansible_collections.blackwell.inference.plugins.module_utils.observe.nvml.session import NvmlRequest, NvmlSession

SAY = "import json, os, sys, time\ndef say(**message): print(json.dumps(message), flush=True)\n"


@pytest.fixture
def talk(tmp_path, monkeypatch):
    """Starts a conversation with a program given as text instead of the one that talks to NVML."""

    def start(program: str, timeout_seconds: float = 20) -> NvmlSession:
        (tmp_path / "stand_in.py").write_text(SAY + program)
        monkeypatch.setattr(session, "child", SimpleNamespace(__name__="stand_in"))
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
        return NvmlSession(NvmlRequest(None), timeout_seconds)

    return start


def test_a_conversation_to_the_end(talk):
    heard = talk(
        "say(driver={'version': '1'}, count=2); say(gpu={'index': 1}); say(row={'index': 0}); say(done=True)"
    ).hear()
    assert (heard.driver, heard.count, heard.gpus, heard.rows) == (
        {"version": "1"},
        2,
        {1: {"index": 1}},
        {0: {"index": 0}},
    )
    assert (heard.done, heard.ended, heard.silent_seconds) == (True, None, None)


def test_the_request_travels(talk):
    talking = talk("say(driver=json.loads(sys.argv[1]), count=0)")
    assert talking.hear().driver == {"library": None, "only": None, "gpus": True, "rows": True, "use": False}


def test_silence_is_told_with_the_call_that_did_not_return_and_its_process_is_gone(talk):
    talking = talk("say(gpu={'index': 0}); say(asking='nvmlDeviceGetName'); time.sleep(60)", timeout_seconds=1.0)
    started = time.monotonic()
    heard = talking.hear(total_seconds=30)
    assert time.monotonic() - started < 5
    assert (heard.done, heard.asking, list(heard.gpus)) == (False, "nvmlDeviceGetName", [0])
    assert heard.silent_seconds >= 1.0
    assert not os.path.exists(f"/proc/{talking.process.pid}")


def test_naming_calls_does_not_put_off_the_deadline(talk):
    heard = talk("while True: say(asking='nvmlX'); time.sleep(0.05)", timeout_seconds=0.8).hear(total_seconds=30)
    assert heard.silent_seconds >= 0.8


def test_answers_in_time_that_take_too_long_together(talk):
    heard = talk("for i in range(99): say(gpu={'index': i}); time.sleep(0.1)", timeout_seconds=20).hear(
        total_seconds=1.0
    )
    assert heard.silent_seconds < 20
    assert 0 < len(heard.gpus) < 99


def test_what_was_said_in_time_counts_though_it_is_heard_late(talk):
    """While one process of several is listened to, the others fill their pipes."""
    talking = talk("say(gpu={'index': 0}); say(done=True)", timeout_seconds=0.5)
    time.sleep(0.8)
    heard = talking.hear()
    assert (heard.done, list(heard.gpus), heard.silent_seconds) == (True, [0], None)


@pytest.mark.parametrize(
    ("program", "ended"),
    [
        ("say(asking='nvmlInit'); sys.exit(3)", "ended with exit status 3"),
        ("say(asking='nvmlInit'); os.kill(os.getpid(), 11)", "was ended by signal 11"),
        ("say(broke='ValueError: x')", "failed with ValueError: x"),
    ],
)
def test_a_process_that_ends_too_early(talk, program, ended):
    assert talk(program).hear().ended == ended


@pytest.mark.parametrize("program", ["say(refused=9, nvml_version=None)", "say(unloadable='no such file')"])
def test_a_refusal_is_an_answer_and_no_early_end(talk, program):
    assert talk(program).hear().ended is None


def test_a_process_that_cannot_be_killed_is_left_behind(talk, monkeypatch):
    """One in uninterruptible sleep takes the signal and stays: here a process that never gets it."""
    talking = talk("time.sleep(60)", timeout_seconds=0.5)
    monkeypatch.setattr(talking.process, "kill", lambda: None)
    started = time.monotonic()
    talking.hear()
    assert time.monotonic() - started < 3
    assert talking.process.poll() is None
    monkeypatch.undo()
    talking.process.kill()
    talking.process.wait()


def test_the_process_holds_none_of_our_files_open(talk):
    """Whoever waits for the end of our output must not wait for a process that never ends."""
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    links = "{os.readlink(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{fd}')}"
    heard = talk(f"say(driver={{'open': sorted({links})}}, count=0); say(done=True)").hear()
    pipe = os.readlink(f"/proc/self/fd/{writing}")
    os.close(reading)
    os.close(writing)
    assert pipe not in heard.driver["open"]
    assert len([link for link in heard.driver["open"] if link.startswith("pipe:")]) == 1  # its answers
