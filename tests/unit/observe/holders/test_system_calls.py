# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The system calls, against what Python says of the same files."""

from __future__ import annotations

import os
import subprocess
import threading

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.holders.gpu_files import SystemCalls
from ansible_collections.blackwell.inference.tests.doubles.companions import DIES_WITH_US


@pytest.fixture(params=["statx", "stat"])
def calls(request):
    calls = SystemCalls()
    assert calls._statx is not None  # every kernel that tests run on has it
    if request.param == "stat":
        calls._statx = None
    return calls


@pytest.mark.parametrize("path", ["/dev/null", "/dev/full", "/proc/self/exe", "/dev/shm"])
def test_what_a_file_is(calls, path):
    found = os.stat(path)
    numbers = [number for device in (found.st_rdev, found.st_dev) for number in (os.major(device), os.minor(device))]
    assert calls.look(path) == (found.st_mode, found.st_ino, *numbers)


def test_a_name_in_an_open_folder(calls, tmp_path):
    (tmp_path / "x").write_text("")
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        assert calls.look("x", folder)[1] == (tmp_path / "x").stat().st_ino
        assert calls.look("y", folder) is None
    finally:
        os.close(folder)


def test_nothing_there(calls):
    assert calls.look("/absent") is None


def test_threads_share_their_descriptors_and_processes_do_not():
    calls, go_on, told = SystemCalls(), threading.Event(), threading.Event()
    other = []

    def live():
        other.append(threading.get_native_id())
        told.set()
        go_on.wait()

    thread = threading.Thread(target=live)
    thread.start()
    told.wait()
    child = subprocess.Popen([*DIES_WITH_US, "sleep", "600"])
    try:
        me = os.getpid()
        assert (calls.same_files(me, other[0]), calls.same_files(me, child.pid)) == (True, False)
    finally:
        child.kill()
        child.wait()
        go_on.set()
        thread.join()


def test_a_kernel_that_does_not_tell(monkeypatch):
    calls = SystemCalls()
    monkeypatch.setattr(calls, "_kcmp", None)
    assert not calls.same_files(os.getpid(), os.getpid())
