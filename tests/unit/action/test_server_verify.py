# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verification in two calls: the host verifies, the controller makes the page, the host writes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.blackwell.inference.plugins.action import server_verify
from ansible_collections.blackwell.inference.tests.unit.plugin_utils.page.test_measured import MEASURED
from ansible_collections.blackwell.inference.tests.unit.plugin_utils.page.test_page import VERDICT

PATHS = {"verdict_path": "/records/verdict.json", "calibration_path": "/records/calibration.json", "report_path": "/records/plan.html"}  # fmt: skip
ASKED = {"unit": "sglang-kimi.service", "api_key": "k-123", "served_model_name": "kimi", "engine_version": "0.5.9"}


class Verify(server_verify.ActionModule):
    """The action plugin with answers instead of a host."""

    def __init__(self, arguments: dict[str, Any], answers: list[dict[str, Any]], check: bool = False) -> None:
        self._task = SimpleNamespace(args=arguments, check_mode=check)
        self.answers = iter(answers)
        self.calls: list[dict[str, Any]] = []

    def _execute_module(self, **call: Any) -> Any:
        assert call["module_name"] == "blackwell.inference.server_verify"
        self.calls.append(call["module_args"])
        return next(self.answers)


@pytest.fixture(autouse=True)
def _action_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_verify.ActionBase, "run", lambda self, tmp, task_vars: {})


@pytest.fixture
def arguments(plan: Any) -> dict[str, Any]:
    return {**ASKED, **PATHS, "plan": plan(hicache_ratio=4.0).as_dict()}


def found(**more: Any) -> dict[str, Any]:
    return {"changed": False, "verdict": {**VERDICT, "passed": True}, "calibration": MEASURED, **more}


WRITTEN = {"changed": False, "invocation": {}}


def test_the_second_call_writes_what_the_first_one_found(arguments: dict[str, Any]) -> None:
    action = Verify(arguments, [found(), WRITTEN])
    assert action.run(task_vars={}) == found()
    first, second = action.calls
    assert first == {**arguments, "write": None}
    assert {name: second[name] for name in PATHS} == PATHS
    assert second["write"]["verdict"] == found()["verdict"]
    assert second["write"]["calibration"] == MEASURED
    assert "Verified 2026-02-24T10:12:03Z: it is what was planned" in second["write"]["page"]
    assert "-17 tokens" in second["write"]["page"]


def test_the_second_call_carries_neither_key_nor_plan(arguments: dict[str, Any]) -> None:
    action = Verify(arguments, [found(), WRITTEN])
    action.run(task_vars={})
    assert (action.calls[1]["api_key"], action.calls[1]["plan"]) == (None, {})


def test_a_verification_that_failed_is_recorded_too(arguments: dict[str, Any]) -> None:
    failed = {"failed": True, "msg": "not what was planned", "verdict": VERDICT, "calibration": None}
    action = Verify(arguments, [failed, WRITTEN])
    assert action.run(task_vars={}) == failed
    assert action.calls[1]["write"]["calibration"] is None
    assert "it is not what was planned" in action.calls[1]["write"]["page"]


@pytest.mark.parametrize(
    ("changes", "answer", "check"),
    [
        (dict.fromkeys(PATHS), found(), False),
        ({}, found(), True),
        ({}, {"failed": True, "msg": "inactive"}, False),
        ({}, {"changed": False, "msg": "inactive", "verdict": None, "calibration": None}, True),
    ],
    ids=["no paths", "check mode", "nothing runs", "nothing runs in check mode"],
)
def test_one_call_where_there_is_nothing_to_write(
    arguments: dict[str, Any], changes: dict[str, Any], answer: dict[str, Any], check: bool
) -> None:
    action = Verify({**arguments, **changes}, [answer], check)
    assert action.run(task_vars={}) == answer
    assert len(action.calls) == 1


def test_no_page_is_made_without_a_path_for_it(arguments: dict[str, Any]) -> None:
    action = Verify({**arguments, "report_path": None, "plan": {}}, [found(), WRITTEN])
    action.run(task_vars={})
    assert action.calls[1]["write"]["page"] is None


def test_records_that_cannot_be_written_are_the_failure(arguments: dict[str, Any]) -> None:
    full = {
        "failed": True,
        "msg": "The verdict could not be written to /records/verdict.json: No space left on device.",
    }
    assert Verify(arguments, [found(), full]).run(task_vars={}) == full


def test_a_task_cannot_have_something_else_written(arguments: dict[str, Any]) -> None:
    action = Verify({**arguments, "write": {"verdict": {"passed": True}}}, [found(), WRITTEN])
    action.run(task_vars={})
    assert action.calls[0]["write"] is None
    assert action.calls[1]["write"]["verdict"] == found()["verdict"]
