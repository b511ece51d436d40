# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""server_verify against recorded answers and a recorded journal: one wrong number in each source fails by its name.

The real engine's recordings (on a CPU) carry the answers; what a CPU cannot show comes from the design host's log lines.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.blackwell.inference.tests.doubles.companions import DIES_WITH_US
from ansible_collections.blackwell.inference.tests.doubles.systemd.double import SystemdDouble
from ansible_collections.blackwell.inference.tests.integration.action_process import run_action
from ansible_collections.blackwell.inference.tests.integration.module_process import TREE, run_module
from ansible_collections.blackwell.inference.tests.unit.verify import design_host

TESTS = Path(__file__).parents[1]
UNIT = "sglang-tiny.service"
AVAILABLE_KIB = 10 << 20
CELL = 256  # tiny-llama: 2 KV heads x 16 x 2 x 2 layers x 2 bytes


def cpu_plan(version: str, page_size: int) -> dict[str, Any]:
    """What was asked of the engine when it was recorded."""
    host_tokens = 8 * 2048 + page_size
    return {
        "schema": 1,
        "engine": {"version": version, "dialect": version},
        "device": "cpu",
        "ranks": 1,
        "model": {"name": "tiny-llama", "identity": "f00d"},
        "gpu": None,
        "host": {
            "lines": [{"name": "1 rank process", "size_bytes": 1 << 30, "source": "estimate"}],
            "reserve_bytes": 1 << 30,
            "available_after_start_bytes": AVAILABLE_KIB * 1024,
            "available_after_start_tolerance_bytes": 2 << 30,
        },
        "host_cache": {"enabled": True, "tokens": host_tokens, "bytes_per_rank": host_tokens * CELL, "bytes_total": host_tokens * CELL, "page_size": page_size},
        "pool": {"tokens": 2048, "cell_bytes": CELL, "kv_bytes": 2048 * CELL},
        "arguments": {"device": "cpu", "max-total-tokens": 2048, "hicache-ratio": 8.0, "mem-fraction-static": 0.5},
        "forced": [],
    }  # fmt: skip


class Host:
    """A host where a recorded engine runs: its API is a process, its unit and journal come from the double."""

    def __init__(self, folder: Path, recording: Path, plan: dict[str, Any], model: str) -> None:
        self.folder, self.plan, self.model = folder, plan, model
        self.systemd = SystemdDouble(folder)
        self.others: list[subprocess.Popen[Any]] = []
        self.calls: list[dict[str, Any]] = []
        for name in ("models.json", "server_info.json", "chat.json"):
            shutil.copy(recording / name, folder)
        shutil.copy(recording / "journal.log", self.systemd.journal())
        self.meminfo = folder / "meminfo"
        self.meminfo.write_text(f"MemTotal: 99999999 kB\nMemAvailable: {AVAILABLE_KIB} kB\n")
        self.api = subprocess.Popen(
            [*DIES_WITH_US, sys.executable, str(TESTS / "doubles" / "recorded_api.py"), str(folder), "0"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.api.stdout is not None
        self.port = int(self.api.stdout.readline().split()[-1])
        self.set_unit()

    def end(self) -> None:
        for process in (self.api, *self.others):
            process.kill()
            process.communicate()

    def swap(self) -> None:
        """The unit runs, and another process listens on its port."""
        self.others.append(subprocess.Popen([*DIES_WITH_US, "sleep", "300"]))
        self.set_unit(MainPID=str(self.others[-1].pid))

    def set_unit(self, **properties: str) -> None:
        self.systemd.set_unit(UNIT, **{"MainPID": str(self.api.pid), **properties})

    def change(self, name: str, change: Callable[[Any], None]) -> None:
        file = self.folder / name
        answer = json.loads(file.read_text())
        change(answer)
        file.write_text(json.dumps(answer))

    def replace_line(self, old: str, new: str) -> None:
        text = self.systemd.journal().read_bytes().decode()
        assert old in text
        self.systemd.journal().write_bytes(text.replace(old, new).encode())

    def verify(self, check: bool = False, **options: Any) -> dict[str, Any]:
        """In a mount namespace of its own, where /proc/meminfo is the host's."""
        arguments = {
            "unit": UNIT,
            "url": f"http://127.0.0.1:{self.port}",
            "api_key": "k-123",
            "plan": self.plan,
            "served_model_name": self.model,
            "engine_version": self.plan["engine"]["version"],
            "expected_unit": {"KillMode": "control-group"},
            "verdict_path": str(self.folder / "verdict.json"),
            "calibration_path": str(self.folder / "calibration.json"),
            "report_path": str(self.folder / "plan.html"),
        }
        mount = ["unshare", "--mount", "sh", "-c", f'mount --bind {self.meminfo} /proc/meminfo && exec "$@"', "sh"]

        def call(given: dict[str, Any]) -> dict[str, Any]:
            self.calls.append(given)
            return run_module("server_verify", given, self.systemd.environment, check, mount)

        return run_action("server_verify", {**arguments, **options}, call, check)


def outcomes(result: dict[str, Any], outcome: str) -> list[str]:
    checks = [(level["level"], check) for level in result["verdict"]["levels"] for check in level["checks"]]
    return [f"{level}: {check['name']}" for level, check in checks if check["outcome"] == outcome]


@pytest.fixture(params=[("0.5.9", 1), ("0.5.23", 16)], ids=["0.5.9", "0.5.23"])
def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Host]:
    """Each recorded version on a CPU."""
    version, page_size = request.param
    host = Host(
        tmp_path, TESTS / "data" / "sglang" / version / "cpu-llama-hicache", cpu_plan(version, page_size), "tiny-llama"
    )
    yield host
    host.end()


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Host]:
    host = Host(
        tmp_path, TESTS / "data" / "sglang" / "0.5.23" / "cpu-llama-hicache", cpu_plan("0.5.23", 16), "tiny-llama"
    )
    yield host
    host.end()


def test_a_recorded_start_is_what_was_planned(recorded: Host) -> None:
    result = recorded.verify()
    assert not result.get("failed"), result.get("msg")
    assert result["changed"] is False
    assert outcomes(result, "skipped")[:5] == [
        "server_info: context length",
        "journal: tokens from the logged free memory",
        "journal: graph memory",
        "journal: GPU memory free after the start",
        "host_memory: pinned host cache",
    ]
    verdict = recorded.folder / "verdict.json"
    assert json.loads(verdict.read_text()) == result["verdict"]
    assert stat.S_IMODE(verdict.stat().st_mode) == 0o644
    assert json.loads((recorded.folder / "calibration.json").read_text()) == result["calibration"]
    assert result["calibration"]["tokens"] == 2048
    assert result["calibration"]["start_seconds"] >= 0
    page = recorded.folder / "plan.html"
    assert stat.S_IMODE(page.stat().st_mode) == 0o644
    assert f"Verified {result['verdict']['finished']}: it is what was planned" in page.read_text()
    assert "k-123" not in verdict.read_text() + page.read_text()
    assert [call["write"] is None for call in recorded.calls] == [True, False], "one call verifies, a second one writes"


def unit(**properties: str) -> Callable[[Host], None]:
    return lambda host: host.set_unit(**properties)


def answer(name: str, change: Callable[[Any], None]) -> Callable[[Host], None]:
    return lambda host: host.change(name, change)


def line(old: str, new: str) -> Callable[[Host], None]:
    return lambda host: host.replace_line(old, new)


def available(kib: int) -> Callable[[Host], None]:
    return lambda host: host.meminfo.write_text(f"MemAvailable: {kib} kB\n") and None


def just_started(host: Host) -> None:
    """The recorded start, as if it had ended a moment ago."""
    now = datetime.now(UTC).strftime("[%Y-%m-%d %H:%M:%S").encode()
    journal = host.systemd.journal()
    journal.write_bytes(re.sub(rb"(?m)^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", now, journal.read_bytes()))


def available_at_once(kib: int) -> Callable[[Host], None]:
    def inject(host: Host) -> None:
        just_started(host)
        available(kib)(host)

    return inject


def nothing_said(chat: Any) -> None:
    chat["choices"][0]["message"].update(content=None, reasoning_content="")


INJECTIONS: list[tuple[str, Callable[[Host], None], list[str]]] = [
    ("unit: disabled", unit(UnitFileState="disabled"), ["unit: unit file state"]),
    ("unit: another kill mode", unit(KillMode="process"), ["unit: KillMode"]),
    ("unit: another server on its port", Host.swap, ["api: listener"]),
    ("API: another model", answer("models.json", lambda models: models["data"][0].update(id="other")), ["api: served model"]),
    ("API: a completion without text", answer("chat.json", nothing_said), ["api: chat completion"]),
    ("server info: version", answer("server_info.json", lambda info: info.update(version="0.5.22")), ["server_info: version"]),
    (
        "server info: tokens",
        answer("server_info.json", lambda info: info.update(max_total_num_tokens=2047)),
        ["server_info: max_total_num_tokens", "journal: max_total_num_tokens of the answering server"],
    ),
    ("server info: ranks", answer("server_info.json", lambda info: info.update(tp_size=2)), ["server_info: tp_size"]),
    ("server info: ratio", answer("server_info.json", lambda info: info.update(hicache_ratio=2.0)), ["server_info: hicache_ratio"]),
    ("journal: the pool's tokens", line("#tokens: 2048", "#tokens: 2032"), ["journal: pool tokens of TP0"]),
    ("journal: the pool's size", line("K size: 0.00 GB", "K size: 0.30 GB"), ["journal: KV size of TP0"]),
    ("journal: the host pool's size", line("16400 tokens, 0.00 GB", "16400 tokens, 0.05 GB"), ["journal: host pool of TP0"]),
    ("journal: the host pool's tokens", line("16400 tokens", "16384 tokens"), ["journal: host pool tokens of TP0"]),
    ("journal: not up", line("The server is fired up", "The server is warming up"), ["journal: fired-up line"]),
    ("meminfo", available_at_once(AVAILABLE_KIB - (3 << 20)), ["host_memory: MemAvailable"]),
    ("meminfo, and the reserve is gone", available((1 << 20) - 1), ["host_memory: MemAvailable"]),
]  # fmt: skip


@pytest.mark.parametrize(("inject", "names"), [row[1:] for row in INJECTIONS], ids=[row[0] for row in INJECTIONS])
def test_one_wrong_number_fails_by_its_name(tiny: Host, inject: Callable[[Host], None], names: list[str]) -> None:
    inject(tiny)
    result = tiny.verify()
    assert result["failed"]
    assert set(outcomes(result, "failed")) <= set(names)
    assert outcomes(result, "failed")[0] == names[0]
    level, _colon, name = names[0].partition(": ")
    assert f"sglang-tiny.service is not what was planned. [{level}] {name}: " in result["msg"]
    assert json.loads((tiny.folder / "verdict.json").read_text())["passed"] is False
    assert "it is not what was planned" in (tiny.folder / "plan.html").read_text()


@pytest.fixture
def eight_ranks(tmp_path: Path) -> Iterator[Host]:
    """The design host's journal, and answers that go with it."""
    host = Host(tmp_path, TESTS / "data" / "sglang" / "0.5.9" / "cpu-llama-hicache", design_host.PLAN, "kimi-k2.5")
    host.systemd.journal().write_text("\n".join(design_host.LINES) + "\n")
    (tmp_path / "server_info.json").write_text(json.dumps(design_host.INFO))
    (tmp_path / "models.json").write_text(json.dumps(design_host.MODELS.body))
    host.meminfo.write_text(f"MemAvailable: {78 << 20} kB\n")
    yield host
    host.end()


def test_the_design_host_is_what_was_planned(eight_ranks: Host) -> None:
    result = eight_ranks.verify()
    assert not result.get("failed"), result.get("msg")
    assert "-17 tokens" in (eight_ranks.folder / "plan.html").read_text()
    assert result["calibration"]["graph_bytes"] == 4026531840
    assert result["calibration"]["start_seconds"] == 660.0


@pytest.mark.parametrize(
    ("inject", "name"),
    [
        (line("avail mem=94.04", "avail mem=94.20"), "journal: tokens from the logged free memory"),
        (line("TP4] Allocating 44.77", "TP4] Allocating 45.77"), "journal: host pool of TP4"),
        (line("mem usage=3.75", "mem usage=4.75"), "journal: graph memory"),
        (line("avail mem=5.47", "avail mem=3.47"), "journal: GPU memory free after the start"),
        (line("available_gpu_mem=5.47", "available_gpu_mem=3.47"), "journal: GPU memory free after the start"),
        (available_at_once(75 << 20), "host_memory: MemAvailable"),
        (available(9 << 20), "host_memory: MemAvailable"),
        (available(400 << 20), "host_memory: MemAvailable"),
    ],
    ids=[
        "free memory",
        "a rank's host pool",
        "graphs",
        "free after graphs",
        "free in the sum-up",
        "less available",
        "less than the reserve",
        "not pinned",
    ],
)
def test_one_wrong_number_of_eight_ranks_fails_by_its_name(
    eight_ranks: Host, inject: Callable[[Host], None], name: str
) -> None:
    inject(eight_ranks)
    assert outcomes(eight_ranks.verify(), "failed")[0] == name


def test_memory_that_others_take_later_is_a_note(tiny: Host) -> None:
    available(AVAILABLE_KIB - (3 << 20))(tiny)
    result = tiny.verify()
    assert not result.get("failed"), result.get("msg")
    assert "host_memory: MemAvailable" in outcomes(result, "skipped")


def test_check_mode_verifies_and_writes_nothing(tiny: Host) -> None:
    old = tiny.folder / "verdict.json"
    old.write_text("old")
    assert tiny.verify(check=True)["verdict"]["passed"] is True
    assert old.read_text() == "old"
    assert not (tiny.folder / "calibration.json").exists()
    assert not (tiny.folder / "plan.html").exists()
    assert len(tiny.calls) == 1


def test_nothing_is_written_without_a_path(tiny: Host) -> None:
    result = tiny.verify(verdict_path=None, calibration_path=None, report_path=None)
    assert result["verdict"]["passed"] is True
    assert len(tiny.calls) == 1


def test_nothing_runs(tiny: Host) -> None:
    old, page = tiny.folder / "verdict.json", tiny.folder / "plan.html"
    old.write_text("old")
    page.write_text("old")
    tiny.set_unit(ActiveState="inactive", MainPID="0")
    result = tiny.verify()
    assert result["msg"] == (
        "sglang-tiny.service is inactive (systemd: loaded, success). A running unit was expected; "
        "start it with: systemctl start sglang-tiny.service, wait until it is ready, then verify."
    )
    assert not old.exists(), "a verdict of another time must not be taken for this one's"
    assert not page.exists()
    assert not tiny.verify(check=True).get("failed")


def test_a_restart_while_it_verifies_is_named(tiny: Host) -> None:
    class Restarted(SystemdDouble):
        @property
        def environment(self) -> dict[str, str]:
            return {**super().environment, "SYSTEMD_DOUBLE_SECOND_INVOCATION": "1"}

    tiny.systemd = Restarted(tiny.folder)
    assert outcomes(tiny.verify(), "failed") == ["unit: invocation"]


def test_only_the_levels_that_were_asked_for(tiny: Host) -> None:
    result = tiny.verify(levels=["unit"])
    assert [level["level"] for level in result["verdict"]["levels"]] == ["unit"]


def test_a_verdict_that_cannot_be_written(tiny: Host) -> None:
    result = tiny.verify(verdict_path=str(tiny.folder / "missing" / "verdict.json"))
    assert result["msg"].startswith("The verdict could not be written to ")
    assert result["msg"].endswith(": No such file or directory. A directory that exists and is writable was expected.")


def test_a_plan_that_is_none(tiny: Host) -> None:
    result = tiny.verify(plan={"schema": 1})
    assert result["msg"].startswith(
        "The plan lacks arguments, device, host, host_cache, pool, ranks; a plan as memory_plan returns it was expected."
    )


PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - name: Verify
      blackwell.inference.server_verify: "{{ asked }}"
      environment: "{{ seen_from }}"
"""


@pytest.mark.parametrize("check", [False, True], ids=["run", "check mode"])
def test_in_a_play(tiny: Host, check: bool) -> None:
    """The whole way, with values as Ansible templates them: verified, then written, and a server of another version fails all the same."""
    records = tiny.folder / "records"
    records.mkdir()
    names = {"verdict_path": "verdict.json", "calibration_path": "calibration.json", "report_path": "plan.html"}
    asked = {
        "unit": UNIT,
        "url": f"http://127.0.0.1:{tiny.port}",
        "api_key": "k-123",
        "plan": tiny.plan,
        "served_model_name": tiny.model,
        "engine_version": "0.5.22",
        "levels": ["unit", "server_info"],
        **{option: str(records / name) for option, name in names.items()},
    }
    (tiny.folder / "play.yml").write_text(PLAY)
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", "localhost,", "-c", "local", "-v"]
    command += [
        "-e",
        json.dumps({"asked": asked, "seen_from": tiny.systemd.environment}),
        str(tiny.folder / "play.yml"),
    ]
    given = {
        "ANSIBLE_COLLECTIONS_PATH": str(TREE),
        "ANSIBLE_PIPELINING": "true",
        "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
        "ANSIBLE_NOCOLOR": "1",
    }
    done = subprocess.run(
        [*command, *(["--check"] if check else [])], env={**os.environ, **given}, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 2, done.stdout + done.stderr
    assert "sglang-tiny.service is not what was planned. [server_info] version: " in done.stdout
    assert "k-123" not in done.stdout + done.stderr
    assert sorted(path.name for path in records.iterdir()) == ([] if check else sorted(names.values()))
    if not check:
        assert json.loads((records / "verdict.json").read_text())["passed"] is False
        assert "Failed: server_info, version" in (records / "plan.html").read_text()
