# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Eight ranks of the engine double: planned, waited for and verified by three modules that share nothing but the plan."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.blackwell.inference.tests.doubles.companions import DIES_WITH_US
from ansible_collections.blackwell.inference.tests.doubles.systemd.double import SystemdDouble
from ansible_collections.blackwell.inference.tests.integration.action_process import run_action
from ansible_collections.blackwell.inference.tests.integration.module_process import run_module
from ansible_collections.blackwell.inference.tests.integration.test_server_ready import free_port
from ansible_collections.blackwell.inference.tests.integration.test_server_verify import outcomes

ROOT = Path(__file__).parents[2]
UNIT = "sglang-kimi.service"
GIB_KIB = 1 << 20


class Deployment:
    """The Kimi profile on the design host, as far as a plan, a process and a described meminfo go."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.profile = yaml.safe_load((ROOT / "playbooks" / "profiles" / "kimi-k2.5.yml").read_text())[
            "inference_profile_data"
        ]
        self.version = self.profile["sglang_version"]
        self.systemd = SystemdDouble(folder)
        self.port = free_port()
        self.engine: subprocess.Popen[bytes] | None = None
        self.meminfo = folder / "meminfo"
        self.meminfo.write_text(
            f"MemTotal: {449 * GIB_KIB} kB\nMemFree: {445 * GIB_KIB} kB\nMemAvailable: {445 * GIB_KIB} kB\nShmem: 0 kB\n"
        )

    def plan(self, **serving: Any) -> dict[str, Any]:
        hardware = {"gpus": 8, "gpu_memory_gib": 95.59, "ram_gib": 449, "ram_available_gib": 445}
        request = {
            "hardware": hardware,
            "model": self.profile["model"],
            "engine_version": self.version,
            "serving": {**self.profile["serving"], **serving},
            "arguments": self.profile["arguments"],
            "calibration": self.profile["measured"],
        }
        plan: dict[str, Any] = run_action("memory_plan", request)["plan"]
        return plan

    def start(self, plan: dict[str, Any], **faults: str) -> None:
        package = self.folder / "package"
        shutil.copytree(ROOT / "tests" / "doubles" / "engine" / "package", package)
        (package / "sglang" / "version.py").write_text(f'__version__ = "{self.version}"\n')
        shutil.copy(
            ROOT / "tests" / "data" / "sglang" / "flags" / f"{self.version}.json",
            package / "sglang" / "double" / "flags.json",
        )
        flags = [
            word
            for flag, value in plan["arguments"].items()
            for word in ([f"--{flag}"] if value is True else [f"--{flag}", str(value)])
        ]
        where = [
            "--port",
            str(self.port),
            "--model-path",
            str(ROOT / "tests" / "data" / "models" / "kimi-k2.5"),
            "--served-model-name",
            "kimi-k2.5",
        ]
        environment = {
            **os.environ,
            "PYTHONPATH": str(package),
            "PYTHONUNBUFFERED": "1",
            "ENGINE_DOUBLE_MEMINFO": str(self.meminfo),
            **faults,
        }
        with self.systemd.journal().open("wb") as journal:
            command = [*DIES_WITH_US, sys.executable, "-m", "sglang.launch_server", *where, *flags]
            self.engine = subprocess.Popen(
                command, env=environment, stdout=journal, stderr=journal, start_new_session=True
            )
        self.systemd.set_unit(UNIT, MainPID=str(self.engine.pid))

    def end(self) -> None:
        if self.engine is not None:
            with contextlib.suppress(ProcessLookupError):  # it may have ended by itself, as a test asked it to
                os.killpg(self.engine.pid, signal.SIGKILL)
            self.engine.wait()

    def wait(self, stall_seconds: float = 60) -> dict[str, Any]:
        request = {
            "unit": UNIT,
            "url": f"http://127.0.0.1:{self.port}",
            "stall_seconds": stall_seconds,
            "observe_seconds": 90,
        }
        return run_module("server_ready", request, self.systemd.environment)

    def verify(self, plan: dict[str, Any]) -> dict[str, Any]:
        request = {
            "unit": UNIT,
            "url": f"http://127.0.0.1:{self.port}",
            "plan": plan,
            "served_model_name": "kimi-k2.5",
            "engine_version": self.version,
        }
        mount = ["unshare", "--mount", "sh", "-c", f'mount --bind {self.meminfo} /proc/meminfo && exec "$@"', "sh"]
        return run_module("server_verify", request, self.systemd.environment, before=mount)


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    deployment = Deployment(tmp_path)
    yield deployment
    deployment.end()


@pytest.mark.parametrize(
    "serving",
    [{}, {"hicache_size": None, "hicache_ratio": 4.0}, {"hicache": False, "hicache_size": None}],
    ids=["size 48", "ratio 4.0", "no host cache"],
)
def test_a_start_as_planned_is_ready_and_verified(deployment: Deployment, serving: dict[str, Any]) -> None:
    plan = deployment.plan(**serving)
    deployment.start(plan)
    ready = deployment.wait()
    assert ready["readiness"]["state"] == "ready", ready.get("msg")
    result = deployment.verify(plan)
    assert not result.get("failed"), result.get("msg")
    assert result["calibration"]["tokens"] == 159_294
    assert result["calibration"]["free_before_load_bytes"] == deployment.profile["measured"]["free_before_load_bytes"]
    assert "k-123" not in json.dumps(result)


@pytest.mark.parametrize(
    ("fault", "names"),
    [
        (
            "server_info:max_total_num_tokens=116171",
            ["server_info: max_total_num_tokens", "journal: max_total_num_tokens of the answering server"],
        ),
        ("server_info:mem_fraction_static=0.85", ["server_info: mem_fraction_static"]),
        ("journal:kv_gib=5.21", [f"journal: KV size of TP{rank}" for rank in range(8)]),
        ("journal:host_pool_bytes=40000000000", [f"journal: host pool of TP{rank}" for rank in range(8)]),
    ],
    ids=["tokens", "fraction", "KV size", "host pools"],
)
def test_a_wrong_number_of_the_engine_fails_by_its_name(deployment: Deployment, fault: str, names: list[str]) -> None:
    plan = deployment.plan()
    deployment.start(plan, ENGINE_DOUBLE_FAULT=fault)
    assert deployment.wait()["readiness"]["state"] == "ready"
    assert outcomes(deployment.verify(plan), "failed") == names


def test_ranks_that_stall_after_the_load_are_hung(deployment: Deployment) -> None:
    deployment.start(deployment.plan(), ENGINE_DOUBLE_FAULT="stall:load")
    result = deployment.wait(stall_seconds=5)
    assert result["readiness"]["state"] == "hung"
    assert "sglang-kimi.service hangs: nothing moved for " in result["msg"]


def test_a_rank_out_of_gpu_memory_explains_the_failure(deployment: Deployment) -> None:
    deployment.start(deployment.plan(), ENGINE_DOUBLE_FAULT="oom:load")
    assert deployment.engine is not None
    deployment.engine.wait(timeout=60)
    deployment.systemd.set_unit(UNIT, ActiveState="failed", SubState="failed", Result="signal")
    result = deployment.wait()
    assert result["readiness"]["state"] == "failed"
    assert "A GPU ran out of memory: " in result["msg"]
