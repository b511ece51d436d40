# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""server_ready against real processes, and a systemd double that says what a test wants."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.blackwell.inference.tests.doubles.companions import DIES_WITH_US
from ansible_collections.blackwell.inference.tests.doubles.systemd.double import SystemdDouble
from ansible_collections.blackwell.inference.tests.integration.module_process import TREE, run_module

TESTS = Path(__file__).parents[1]
RECORDING = TESTS / "data" / "sglang" / "0.5.23" / "cpu-llama-hicache"
UNIT = "sglang-tiny.service"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Start:
    """A start of the slow engine under the double of systemd."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.systemd = SystemdDouble(folder)
        self.port = free_port()
        self.engine: subprocess.Popen[bytes] | None = None

    def begin(self, *options: str, **properties: str) -> None:
        weights = self.folder / "model-00001-of-00004.safetensors"
        weights.write_bytes(b"x" * (8 << 20))
        shutil.copy(RECORDING / "models.json", self.folder)
        script = [
            *DIES_WITH_US,
            sys.executable,
            str(TESTS / "doubles" / "slow_engine.py"),
            "--folder",
            str(self.folder),
        ]
        where = ["--journal", str(self.systemd.journal()), "--weights", str(weights), "--port", str(self.port)]
        self.engine = subprocess.Popen([*script, *where, *options], stderr=subprocess.DEVNULL)
        self.systemd.set_unit(UNIT, MainPID=str(self.engine.pid), **properties)

    def end(self) -> None:
        if self.engine is not None:
            self.engine.kill()
            self.engine.wait()

    def arguments(self, **options: Any) -> dict[str, Any]:
        return {
            "unit": UNIT,
            "url": f"http://127.0.0.1:{self.port}",
            "engine_version": "0.5.23",
            "api_key": "k-123",
            **options,
        }

    def wait(self, check: bool = False, **options: Any) -> dict[str, Any]:
        return run_module("server_ready", self.arguments(**options), self.systemd.environment, check)

    def when_it_ends(self, **properties: str) -> threading.Thread:
        """What systemd says as soon as the engine is gone."""

        def watch() -> None:
            if self.engine is not None:
                self.engine.wait()
                self.systemd.set_unit(UNIT, **properties)

        thread = threading.Thread(target=watch)
        thread.start()
        return thread


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    start = Start(tmp_path)
    yield start
    start.end()


def test_a_start_ten_times_slower_than_estimated_is_waited_for(start: Start) -> None:
    start.begin("--seconds-per-shard", "1.5")
    result = start.wait(estimate_seconds=0.6, stall_seconds=6, observe_seconds=60)
    assert not result.get("failed"), result.get("msg")
    readiness = result["readiness"]
    assert (readiness["state"], readiness["phase"], readiness["reason"]) == ("ready", "ready", None)
    assert (readiness["shards_loaded"], readiness["shards_total"]) == (4, 4)


def test_a_start_that_stalls_half_way_is_hung(start: Start) -> None:
    start.begin("--stall-at", "3")
    result = start.wait(stall_seconds=3, observe_seconds=60)
    assert result["failed"]
    assert result["readiness"]["state"] == "hung"
    assert 3 <= result["readiness"]["silent_seconds"] < 30
    assert result["msg"].startswith("sglang-tiny.service hangs: nothing moved for ")
    assert "s (stall_seconds is 3), while it was loading weights, " in result["msg"]
    assert (
        "s after the start of SGLang 0.5.23. New journal lines, bytes read, growing memory or new processes were expected"
        in result["msg"]
    )
    assert f"py-spy dump --pid {start.engine.pid if start.engine else 0}" in result["msg"]


def test_what_one_call_saw_the_next_one_remembers(start: Start) -> None:
    start.begin("--stall-at", "1")
    result = start.wait(stall_seconds=3, observe_seconds=0)
    while result["readiness"]["phase"] == "starting":
        result = start.wait(stall_seconds=3, observe_seconds=0)
    assert (result["readiness"]["state"], result["readiness"]["phase"]) == ("loading", "loading weights")
    time.sleep(3)
    result = start.wait(stall_seconds=3, observe_seconds=0, watch=result["watch"])
    assert result["readiness"]["state"] == "hung"
    assert result["readiness"]["silent_seconds"] >= 3


def test_a_start_that_fails_ends_the_wait_at_once_with_the_journals_reason(start: Start) -> None:
    start.begin("--die-at", "3", "--seconds-per-shard", "0.5")
    ending = start.when_it_ends(ActiveState="failed", SubState="failed", Result="exit-code")
    began = time.monotonic()
    result = start.wait(stall_seconds=300, observe_seconds=60)
    ending.join()
    assert time.monotonic() - began < 60
    assert result["readiness"]["state"] == "failed"
    assert result["msg"].startswith(
        "sglang-tiny.service failed (systemd: exit-code). It was last seen loading weights (2 of 4 shards), "
    )
    assert result["msg"].endswith(
        "A GPU ran out of memory: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
        "Lower mem_fraction_static, or release what else holds the GPU."
    )
    assert result["readiness"]["journal"][-1].endswith("called with --api-key ********")
    assert "k-123" not in json.dumps({key: value for key, value in result.items() if key != "invocation"})


def test_a_restart_by_systemd_is_a_failed_start_with_the_first_ones_reason(start: Start) -> None:
    start.begin("--die-at", "2")
    assert start.engine is not None
    start.engine.wait()
    first = start.wait(observe_seconds=0)
    start.systemd.journal("second").write_text("[2026-02-24 10:00:40] Load weight begin. avail mem=94.04 GB\n")
    start.systemd.set_unit(UNIT, ActiveState="active", InvocationID="second", NRestarts="1")
    result = start.wait(watch=first["watch"])
    assert result["readiness"]["state"] == "failed"
    assert "is started again while it is waited for, which counts as a failed start" in result["msg"]
    assert "A GPU ran out of memory: " in result["msg"]


@pytest.mark.parametrize(
    ("properties", "state", "words"),
    [
        (
            {"ActiveState": "activating", "SubState": "auto-restart", "NRestarts": "4"},
            "failed",
            "which counts as a failed start",
        ),
        (
            {"ActiveState": "inactive", "SubState": "dead"},
            "stopped",
            "start it with: systemctl start sglang-tiny.service.",
        ),
        ({"ActiveState": "inactive", "SubState": "dead", "Job": "77"}, "loading", None),
        ({"ActiveState": "activating", "SubState": "start-pre"}, "loading", None),
        ({"ActiveState": "active", "Job": "77"}, "loading", None),
    ],
    ids=["restarts in a loop", "not started", "queued", "prepares its start", "queued to restart"],
)
def test_what_is_seen_where_no_engine_runs(
    start: Start, properties: dict[str, str], state: str, words: str | None
) -> None:
    start.systemd.set_unit(UNIT, **properties)
    result = start.wait(observe_seconds=0)
    assert result["readiness"]["state"] == state
    assert words is None or words in result["msg"]
    checked = start.wait(check=True)
    assert not checked.get("failed")
    assert checked["readiness"]["state"] == state


def test_a_restart_that_was_queued_before_the_first_look_is_no_failure(start: Start) -> None:
    start.begin(InvocationID="old", Job="77")
    waiting = start.wait(observe_seconds=0)
    start.systemd.set_unit(UNIT, ActiveState="deactivating", InvocationID="old")
    stopping = start.wait(observe_seconds=0, watch=waiting["watch"])
    assert start.engine is not None
    start.systemd.set_unit(UNIT, MainPID=str(start.engine.pid))
    result = start.wait(observe_seconds=60, watch=stopping["watch"])
    assert [waiting["readiness"]["state"], stopping["readiness"]["state"], result["readiness"]["state"]] == [
        "loading",
        "loading",
        "ready",
    ]


def test_a_server_whose_journal_lost_its_start_is_known_by_its_answers(start: Start) -> None:
    start.begin()
    assert start.wait(observe_seconds=60)["readiness"]["state"] == "ready"
    start.systemd.journal().write_text("[2026-02-24 11:00:00] Decode batch, #running-req: 1, #token: 272\n")
    assert start.wait(observe_seconds=0)["readiness"]["state"] == "loading", "a model list alone is no evidence"
    shutil.copy(RECORDING / "server_info.json", start.folder)
    assert start.wait(observe_seconds=0)["readiness"]["state"] == "ready"
    with subprocess.Popen(["sleep", "60"]) as other:
        start.systemd.set_unit(UNIT, MainPID=str(other.pid))
        assert start.wait(observe_seconds=0)["readiness"]["state"] == "loading", (
            "another process answers than the unit's"
        )
        other.kill()


def play(start: Start, folder: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """A task as a user writes it: Ansible finds the action plugin, and the connection is the local one."""
    task = {"name": "Wait", "blackwell.inference.server_ready": start.arguments(**options)}
    playbook = folder / "wait.yml"
    playbook.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": [task]}]))
    environment = {
        **os.environ,
        **start.systemd.environment,
        "ANSIBLE_COLLECTIONS_PATH": str(TREE),
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
    }
    command = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "localhost,", "-c", "local", str(playbook)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_the_task_shows_progress_and_ends_ready(start: Start, tmp_path: Path) -> None:
    """The estimate is long enough for a start that was recorded in February."""
    start.begin("--seconds-per-shard", "2")
    played = play(start, tmp_path, estimate_seconds=10**9, shards=4, stall_seconds=30, observe_seconds=1)
    assert played.returncode == 0, played.stdout
    assert "sglang-tiny.service: loading weights, 0/4 shards, 0 GiB pinned, " in played.stdout
    assert " s of about 1000000000 s" in played.stdout
    assert "changed=0" in played.stdout


def test_a_server_that_is_up_takes_one_look(start: Start, tmp_path: Path) -> None:
    start.begin()
    assert start.wait(observe_seconds=60)["readiness"]["state"] == "ready"
    before = len(start.systemd.calls)
    assert play(start, tmp_path).returncode == 0
    assert len([call for call in start.systemd.calls[before:] if "ActiveState" in call]) == 1


def test_the_task_fails_with_the_reason_and_no_secret(start: Start, tmp_path: Path) -> None:
    start.begin("--die-at", "2")
    ending = start.when_it_ends(ActiveState="failed", SubState="failed", Result="exit-code")
    played = play(start, tmp_path, stall_seconds=30, observe_seconds=1)
    ending.join()
    assert played.returncode != 0
    assert "A GPU ran out of memory: torch.OutOfMemoryError" in played.stdout
    assert "k-123" not in played.stdout + played.stderr
