# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the options of memory_plan to what it returns, without Ansible."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.blackwell.inference.plugins.plugin_utils.planned import planned
from ansible_collections.blackwell.inference.tests.unit.conftest import KIMI

NOTHING: dict[str, Any] = {
    "topology": None,
    "hardware": None,
    "draft_model": None,
    "draft_model_path": None,
    "refuses": [],
    "arguments": {},
    "environment": {},
    "calibration": {},
    "recorded": {},
    "other_engines": [],
    "instance_running": False,
}


@pytest.fixture
def options(host_data: dict[str, Any]) -> dict[str, Any]:
    serving = {"tp": 8, "mem_fraction_static": 0.88}
    asked = {"hardware": host_data, "model": KIMI.as_dict(), "engine_version": "0.5.9", "serving": serving}
    return json.loads(json.dumps({**NOTHING, **asked}))


def told(options: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    warnings: list[str] = []
    return planned(options, warnings.append), warnings


def test_a_plan_with_its_three_forms(options: dict[str, Any]) -> None:
    result, warnings = told(options)
    assert list(result) == ["changed", "plan", "report", "plan_text", "plan_html"]
    assert result["changed"] is False
    assert result["plan"]["arguments"]["tp-size"] == 8
    assert result["plan_text"].splitlines() == result["report"]
    assert '<p class="state open">Planned, not verified yet</p>' in result["plan_html"]
    assert json.loads(json.dumps(result)) == result
    assert warnings == []


def test_a_refusal_with_figures_has_a_report_and_a_page(options: dict[str, Any]) -> None:
    options["serving"]["mem_fraction_static"] = 0.93
    result, _warnings = told(options)
    assert set(result) == {"failed", "msg", "refusals", "report", "refused_plan", "plan_html"}
    assert [row["name"] for row in result["refusals"]] == ["headroom"]
    assert "Memory plan (refused): kimi-k2.5" in result["plan_html"]
    assert result["refusals"][0]["message"] in result["plan_html"]


@pytest.mark.parametrize(
    ("change", "name"),
    [({"serving": {"tp": 6}}, "tensor_parallel"), ({"engine_version": "0.5.4"}, "input"), ({"hardware": {}}, "input")],
    ids=["no figures", "version", "hardware"],
)
def test_a_refusal_without_figures_has_neither(options: dict[str, Any], change: dict[str, Any], name: str) -> None:
    result, _warnings = told({**options, **change})
    assert set(result) == {"failed", "msg", "refusals"}
    assert [row["name"] for row in result["refusals"]] == [name]


def test_a_recorded_plan_that_is_none_is_a_warning(options: dict[str, Any]) -> None:
    _result, warnings = told({**options, "recorded": {"plan": [1]}})
    assert warnings == ["The recorded plan is a list where a dictionary was expected: it is left aside."]
