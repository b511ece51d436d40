# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An installation that outlives the call that began it: gone on with, begun anew, ended, and told how far it is."""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.deploy import installation
from ansible_collections.blackwell.inference.plugins.module_utils.deploy.installation import Installation, watch

LOCK = "# a lock\nsglang==0.5.9 \\\n    --hash=sha256:aa\ntorch==2.9.1 \\\n    --hash=sha256:bb\n"
LOG = """\
Collecting sglang==0.5.9 (from -r lock.txt (line 2))
  Downloading sglang-0.5.9-py3-none-any.whl (1.5 MB)
Collecting torch==2.9.1 (from -r lock.txt (line 4))
  Downloading torch-2.9.1-cp311-cp311-manylinux_2_28_x86_64.whl (899.7 MB)
     ---- 899.7/899.7 MB 80.1 MB/s eta 0:00:00
  Using cached small-1.0-py3-none-any.whl (512 bytes)
"""


@pytest.fixture
def wanted(tmp_path: Path) -> Installation:
    """Of programs that stand for the interpreter: what makes the environment puts a pip there that fails or is slow, as its name says."""
    (tmp_path / "lock.txt").write_text(LOCK)
    return Installation(
        tmp_path / "env", tmp_path / "lock.txt", interpreter(tmp_path, "echo Collecting it"), run=tmp_path / "run"
    )


def interpreter(directory: Path, pip: str) -> str:
    """A stand-in for python: `-m venv PATH` puts a program there that runs `pip`."""
    program = directory / f"python-{abs(hash(pip))}"
    program.write_text(
        f'#!/bin/sh\nmkdir -p "$3/bin"\nprintf \'#!/bin/sh\\n{pip}\\n\' >"$3/bin/python"\nchmod 755 "$3/bin/python"\n'
    )
    program.chmod(0o755)
    return str(program)


def test_what_is_pinned_is_installed_in_the_place_of_what_lay_there(wanted: Installation) -> None:
    wanted.path.mkdir()
    (wanted.path / "old").touch()
    wanted.begin()
    seen = watch(wanted, 20)
    assert (seen["state"], seen["collected"], seen["total"], seen["reason"]) == ("done", 1, 2, None)
    assert seen["installed_bytes"] > 0
    assert not (wanted.path / "old").exists()
    wanted.finish()
    assert list(wanted.run.iterdir()) == []


def test_pip_takes_nothing_without_a_hash(wanted: Installation) -> None:
    command = replace(wanted, wheels="/srv/my wheels").command
    assert f"{wanted.path}/bin/python -m pip install" in command
    assert "--require-hashes --no-deps --only-binary=:all:" in command
    assert "--no-index --find-links '/srv/my wheels'" in command
    assert "--no-index" not in wanted.command


def test_a_failure_tells_what_pip_said_last(wanted: Installation, tmp_path: Path) -> None:
    failing = replace(wanted, python=interpreter(tmp_path, "echo ERROR: no matching distribution; exit 1"))
    failing.begin()
    seen = watch(failing, 20)
    assert (seen["state"], seen["reason"]) == ("failed", "ERROR: no matching distribution")


def test_a_call_goes_on_with_what_one_before_began(wanted: Installation, tmp_path: Path) -> None:
    slow = replace(wanted, python=interpreter(tmp_path, "sleep 2; echo Collecting it"))
    slow.begin()
    assert watch(slow, 0)["state"] == "running"
    first = (slow.directory / "process").read_text()
    slow.begin()
    assert (slow.directory / "process").read_text() == first
    assert watch(slow, 20)["state"] == "done"


def test_what_another_lock_began_is_ended(wanted: Installation, tmp_path: Path) -> None:
    slow = replace(wanted, python=interpreter(tmp_path, "sleep 60"))
    slow.begin()
    pid = json.loads((slow.directory / "process").read_text())["pid"]
    slow.requirements.write_text(LOCK.replace("2.9.1", "2.9.2"))
    wanted.begin()
    assert os.waitpid(pid, 0)[0] == pid  # it was a child of this process
    assert watch(wanted, 20)["state"] == "done"


def test_a_process_that_has_the_pid_by_now_is_left_alone(wanted: Installation) -> None:
    """Ours: a signal would end this test."""
    wanted.run.mkdir()
    wanted.directory.mkdir()
    process = {
        "pid": os.getpid(),
        "start_ticks": 1,
        "began": time.time(),
        "command": wanted.command,
        "requirements": LOCK,
    }
    (wanted.directory / "process").write_text(json.dumps(process))
    previous = signal.signal(signal.SIGTERM, lambda number, frame: pytest.fail("It was signalled."))
    try:
        wanted.begin()
    finally:
        signal.signal(signal.SIGTERM, previous)
    assert watch(wanted, 20)["state"] == "done"


def test_one_that_ended_without_a_word_failed(wanted: Installation) -> None:
    wanted.run.mkdir()
    wanted.directory.mkdir()
    (wanted.directory / "process").write_text(json.dumps({"pid": 1 << 22, "start_ticks": 1, "began": time.time()}))
    seen = wanted.look()
    assert (seen["state"], seen["reason"]) == ("failed", "nothing was said")


def test_sizes_are_read_as_pip_says_them() -> None:
    assert installation.progress(LOG, LOCK) == {
        "collected": 2,
        "total": 2,
        "fetched_bytes": 1_500_000 + 899_700_000 + 512,
        "installing": 0,
    }
    assert installation.progress(LOG + "Installing collected packages: sglang, torch\n", LOCK)["installing"] == 1
    assert installation.progress("", "") == {"collected": 0, "total": 0, "fetched_bytes": 0, "installing": 0}
