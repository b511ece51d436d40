# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The levels, the verdict as a whole, and the calibration."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import InferenceError
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import gb_to_bytes, gib_to_bytes
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.calibration import (
    calibration_from_dict,
)
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.api import Server
from ansible_collections.blackwell.inference.plugins.module_utils.verify.calibration import calibration_of
from ansible_collections.blackwell.inference.plugins.module_utils.verify.evidence import Evidence, NotRunning, Question
from ansible_collections.blackwell.inference.plugins.module_utils.verify.planned import Planned
from ansible_collections.blackwell.inference.plugins.module_utils.verify.verify import (
    LEVELS,
    Examination,
    failures,
    verdict_of,
    verify,
)
from ansible_collections.blackwell.inference.tests.unit.verify.design_host import (
    API_FACTS,
    HOST_MEMORY_FACTS,
    JOURNAL_FACTS,
    PLAN,
    PLANNED,
    READING,
    SERVER_INFO_FACTS,
    UNIT_FACTS,
    changed_plan,
)

FACTS: dict[str, Any] = {
    "unit": UNIT_FACTS,
    "api": API_FACTS,
    "server_info": SERVER_INFO_FACTS,
    "journal": JOURNAL_FACTS,
    "host_memory": HOST_MEMORY_FACTS,
}


@pytest.fixture
def gathered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The design host's facts instead of a host's; the levels that asked for theirs, in order."""
    names: list[str] = []

    def gather(name: str) -> Any:
        return lambda _evidence: names.append(name) or FACTS[name]

    for name, level in LEVELS.items():
        monkeypatch.setitem(LEVELS, name, Examination(name, gather(name), level.check))
    monkeypatch.setattr(
        "ansible_collections.blackwell.inference.plugins.module_utils.verify.verify.UNIT", LEVELS["unit"]
    )
    return names


def run(*names: str) -> Any:
    return verify(Evidence.__new__(Evidence), names)


@pytest.mark.usefixtures("gathered")
def test_the_verdict_of_the_design_host() -> None:
    levels = run(*LEVELS)
    verdict = verdict_of(levels, "kimi", "a1", "2026-02-24T10:12:00Z", "2026-02-24T10:12:03Z")
    assert verdict["passed"] is True
    assert [level["level"] for level in verdict["levels"]] == ["unit", "api", "server_info", "journal", "host_memory"]
    assert verdict["invocation_id"] == "a1"
    assert all(
        set(check) == {"name", "outcome", "expected", "seen", "source", "message"}
        for level in verdict["levels"]
        for check in level["checks"]
    )


@pytest.mark.usefixtures("gathered")
def test_one_failed_check_fails_the_verdict_and_is_named_with_its_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FACTS, "host_memory", replace(HOST_MEMORY_FACTS, oom_kills=2))
    levels = run("host_memory")
    assert verdict_of(levels, "kimi", "a1", "", "")["passed"] is False
    assert failures(levels) == [
        "[host_memory] processes killed for want of memory: memory.events shows processes killed for want of memory 2; 0 was expected. "
        "A rank or helper was killed; raise the unit's memory limit or lower the host cache, then restart it."
    ]


def test_only_the_levels_that_were_asked_for_are_read_and_in_the_usual_order(gathered: list[str]) -> None:
    assert [level.level for level in run("journal", "unit")] == ["unit", "journal"]
    assert gathered == ["journal", "unit"]


def test_the_unit_is_looked_at_last(gathered: list[str]) -> None:
    """Or a restart that happens while the other levels read would not be seen."""
    assert [level.level for level in run(*reversed(LEVELS))] == list(LEVELS)
    assert gathered == ["api", "server_info", "journal", "host_memory", "unit"]


class Silent(Evidence):
    """A running unit, and nothing else that could be read."""

    def __getattribute__(self, name: str) -> Any:
        assert name not in ("start", "models", "server_info", "pids"), f"{name} was read"
        return super().__getattribute__(name)


class Systemctl:
    """Answers of systemctl show; each names another invocation."""

    def __init__(self, state: str = "active") -> None:
        self.state, self.calls = state, 0

    def __call__(self, command: Any, **_options: Any) -> tuple[int, str, str]:
        self.calls += 1
        shown = {
            "Id": "sglang-kimi.service",
            "LoadState": "loaded",
            "ActiveState": self.state,
            "SubState": "running",
            "UnitFileState": "enabled",
            "Result": "success",
            "MainPID": "1" if self.state == "active" else "0",
            "InvocationID": f"a{self.calls}",
        }
        return 0, "".join(f"{name}={value}\n" for name, value in shown.items()), ""


QUESTION = Question("sglang-kimi.service", Server("http://127.0.0.1:9"), PLANNED, "kimi-k2.5", "0.5.9")


def test_the_level_of_the_unit_reads_neither_journal_nor_api() -> None:
    (level,) = verify(Silent(Systemctl(), QUESTION), ["unit"])
    assert [check.name for check in level.checks if check.outcome == "failed"] == ["invocation"]


def test_a_unit_that_does_not_run_is_no_evidence() -> None:
    with pytest.raises(NotRunning, match=r"^sglang-kimi\.service is inactive \(systemd: loaded, success\)\. A running"):
        Evidence(Systemctl("inactive"), QUESTION)


def test_a_plan_that_is_none() -> None:
    with pytest.raises(
        InferenceError, match=r"^The plan lacks device, pool; a plan as memory_plan returns it was expected"
    ):
        Planned.read({key: value for key, value in PLAN.items() if key not in ("device", "pool")})


def test_what_the_start_taught() -> None:
    figures = calibration_of(PLANNED, "0.5.9", READING)
    assert figures == {
        "schema": 1,
        "measured": "journal 2026-02-24",
        "engine_version": "0.5.9",
        "model": {"name": "kimi-k2.5", "identity": "f00d"},
        "ranks": 8,
        "tokens": 159277,
        "max_running_requests": 2048,
        "kv_bytes": gib_to_bytes("10.42"),
        "host_cache_bytes_per_rank": gb_to_bytes("44.77"),
        "start_seconds": 660.0,
        "free_before_load_bytes": gib_to_bytes("94.04"),
        "free_after_load_bytes": gib_to_bytes("21.71"),
        "graph_bytes": gib_to_bytes("3.75"),
        "free_after_graphs_bytes": gib_to_bytes("5.47"),
        "graph_batch": 512,
        "gpu_memory_total_bytes": 102641958912,
        "arguments": PLAN["arguments"],
    }


def test_the_planner_understands_it() -> None:
    understood = calibration_from_dict(calibration_of(PLANNED, "0.5.9", READING))
    assert understood.weights_bytes == gib_to_bytes("94.04") - gib_to_bytes("21.71")
    assert understood.source == "measured: journal 2026-02-24"


def test_a_cpu_teaches_nothing_of_a_gpu() -> None:
    figures = calibration_of(changed_plan({"device": "cpu", "gpu": None}), "0.5.9", READING)
    assert figures is not None
    assert not {"free_before_load_bytes", "free_after_load_bytes", "graph_bytes", "free_after_graphs_bytes"} & set(
        figures
    )


def test_half_a_start_teaches_nothing() -> None:
    half = replace(READING, journal=replace(READING.journal, fired_up=False), fired_up=None)
    assert calibration_of(PLANNED, "0.5.9", half) is None
