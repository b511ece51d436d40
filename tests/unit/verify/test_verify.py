# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict as a whole, the calibration, and the files they are kept in."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import InferenceError
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import gb_to_bytes, gib_to_bytes
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.calibration import (
    calibration_from_dict,
)
from ansible_collections.blackwell.inference.plugins.module_utils.verify.calibration import calibration_of
from ansible_collections.blackwell.inference.plugins.module_utils.verify.planned import Planned
from ansible_collections.blackwell.inference.plugins.module_utils.verify.verify import (
    LEVELS,
    failures,
    remove_record,
    verdict_of,
    verify,
    write_record,
)
from ansible_collections.blackwell.inference.tests.unit.verify.design_host import EVIDENCE, PLAN, with_plan


def test_the_verdict_of_the_design_host() -> None:
    levels = verify(EVIDENCE, list(LEVELS))
    verdict = verdict_of(EVIDENCE, levels, "kimi", "2026-02-24T10:12:00Z", "2026-02-24T10:12:03Z")
    assert verdict["passed"] is True
    assert [level["level"] for level in verdict["levels"]] == ["unit", "api", "server_info", "journal", "host_memory"]
    assert verdict["invocation_id"] == "a1"
    assert all(
        set(check) == {"name", "outcome", "expected", "seen", "source", "message"}
        for level in verdict["levels"]
        for check in level["checks"]
    )


def test_one_failed_check_fails_the_verdict_and_is_named_with_its_level() -> None:
    levels = verify(replace(EVIDENCE, oom_kills=2), ["host_memory"])
    assert verdict_of(EVIDENCE, levels, "kimi", "", "")["passed"] is False
    assert failures(levels) == [
        "[host_memory] processes killed for want of memory: memory.events shows processes killed for want of memory 2; 0 was expected. "
        "A rank or helper was killed; raise the unit's memory limit or lower the host cache, then restart it."
    ]


def test_only_the_levels_that_were_asked_for() -> None:
    assert [level.level for level in verify(EVIDENCE, ["journal", "unit"])] == ["unit", "journal"]


def test_a_plan_that_is_none() -> None:
    with pytest.raises(
        InferenceError, match=r"^The plan lacks device, pool; a plan as memory_plan returns it was expected"
    ):
        Planned.read({key: value for key, value in PLAN.items() if key not in ("device", "pool")})


def test_what_the_start_taught() -> None:
    figures = calibration_of(EVIDENCE)
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
    understood = calibration_from_dict(calibration_of(EVIDENCE))
    assert understood.weights_bytes == gib_to_bytes("94.04") - gib_to_bytes("21.71")
    assert understood.source == "measured: journal 2026-02-24"


def test_a_cpu_teaches_nothing_of_a_gpu() -> None:
    figures = calibration_of(with_plan({"device": "cpu", "gpu": None}))
    assert figures is not None
    assert not {"free_before_load_bytes", "free_after_load_bytes", "graph_bytes", "free_after_graphs_bytes"} & set(
        figures
    )


def test_half_a_start_teaches_nothing() -> None:
    assert calibration_of(replace(EVIDENCE, start=replace(EVIDENCE.start, fired_up=False), fired_up=None)) is None


def test_a_record_is_written_whole_and_may_be_read_by_everybody(tmp_path: Path) -> None:
    record = tmp_path / "verdict.json"
    record.write_text("old")
    write_record(record, {"passed": True})
    assert json.loads(record.read_text()) == {"passed": True}
    assert stat.S_IMODE(record.stat().st_mode) == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["verdict.json"]


def test_a_record_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        write_record(tmp_path / "verdict.json", {"passed": object()})
    assert list(tmp_path.iterdir()) == []


def test_an_old_record_is_gone_and_a_missing_one_is_no_error(tmp_path: Path) -> None:
    record = tmp_path / "verdict.json"
    record.write_text("old")
    remove_record(record)
    remove_record(record)
    assert not record.exists()
