# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long the program before the engine waits, and what it refuses."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import ObservationError
from ansible_collections.blackwell.inference.plugins.module_utils.observe.systemd import SystemdSilent
from ansible_collections.blackwell.inference.plugins.module_utils.release import guard

from .scripted import GIB, GROUP, UNIT, ScriptedHost, gpu, holder, seen, stranger

FREE = seen([gpu()])
OPTIONS = ["--unit", UNIT, "--toolbox", "/nonexistent", "--deadline", "120", "--user", "990", "--environment", "BLACKWELL_INSTANCE=kimi"]  # fmt: skip


def looked(*looks) -> ScriptedHost:
    return ScriptedHost(*looks)


@pytest.mark.parametrize(
    ("looks", "state", "seconds"),
    [
        pytest.param([FREE], "released", 0, id="free"),
        pytest.param([*[seen([gpu(0, 9 * GIB)])] * 3, FREE], "released", 6, id="memory that is given back late"),
        pytest.param([seen([gpu(0, 9 * GIB)])], "needs_reset", 120, id="memory that never is"),
        pytest.param(
            [*[seen([gpu(0, GIB, {10: GIB})], [holder(10, control_group=GROUP)])] * 2, FREE], "released", 4, id="ours on its way out"
        ),
        pytest.param([seen([gpu(0, GIB, {20: GIB})], [stranger(20)])], "held", 0, id="another's"),
        pytest.param([*[seen([gpu(0, 9 * GIB)], [stranger(20)])] * 2, seen([gpu()], [stranger(20)])], "released", 4, id="late, beside another's launcher"),
        pytest.param([seen([gpu(0, recovery_action="gpu_reset")])], "needs_reset", 0, id="the driver wants a reset"),
    ],
)  # fmt: skip
def test_it_waits_for_what_time_may_cure(looks, state, seconds):
    host = looked(*looks)
    proof = guard.wait_until_free(host.snapshot, 120, host.now, host.sleep)
    assert (proof.state, host.time) == (state, seconds)


@pytest.fixture
def judged(monkeypatch):
    """`main` on a machine that shows `snapshot`, or fails with it."""

    def run(snapshot) -> int:
        def made(*_arguments):
            if isinstance(snapshot, Exception):
                raise snapshot
            return looked(snapshot)

        monkeypatch.setattr(guard, "LocalHost", made)
        return guard.main(OPTIONS)

    return run


def test_free_gpus_are_passed_in_silence(judged, capsys):
    assert judged(FREE) == 0
    assert capsys.readouterr() == ("", "")


def test_a_held_gpu_is_refused_with_the_holder(judged, capsys):
    assert judged(seen([gpu(0, GIB, {20: GIB})], [stranger(20)])) == 1
    assert capsys.readouterr().err == (
        "The GPUs are not free: GPU 0 has 1.0 GiB in use and is held by process 20 (python3). "
        "Nothing shows that it is ours: uid 1000, no unit, /usr/bin/python3. "
        "Ask its owner to end it, or name the executable or the unit in allow.\n"
    )


def test_a_gpu_that_is_gone_is_refused(judged, capsys):
    assert judged(ObservationError("There is no GPU '7'.")) == 1
    assert capsys.readouterr().err == "The GPUs are not free: There is no GPU '7'.\n"


def test_a_fault_of_its_own_keeps_no_server_down(judged, capsys):
    assert judged(RuntimeError("no such thing")) == 0
    assert capsys.readouterr().err == (
        "Whether the GPUs are free cannot be told: RuntimeError: no such thing. The engine is started all the same.\n"
    )


def test_a_busy_systemd_keeps_no_server_down(judged, capsys):
    silence = SystemdSilent("systemctl show sglang-kimi.service ended with status 1: Connection timed out.")
    assert judged(silence) == 0
    assert capsys.readouterr().err == (
        "Whether the GPUs are free cannot be told: systemctl show sglang-kimi.service ended with status 1: Connection timed out. "
        "The engine is started all the same.\n"
    )


def test_without_the_library_it_lets_the_engine_try(monkeypatch, capsys):
    monkeypatch.setattr(guard.importlib.util, "find_spec", lambda name: None)
    assert guard.main(OPTIONS) == 0
    assert "nvidia-ml-py cannot be imported, neither by " in capsys.readouterr().err
