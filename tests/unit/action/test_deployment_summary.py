# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines at the end of a play stand, whatever becomes of the page."""

from __future__ import annotations

import base64
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.blackwell.inference.plugins.action import deployment_summary
from ansible_collections.blackwell.inference.tests.unit.plugin_utils.kimi_plan import PLAN
from ansible_collections.blackwell.inference.tests.unit.plugin_utils.test_summary import AS_IT_WAS, VERDICT

OPTIONS = {
    **dict.fromkeys(deployment_summary.ARGUMENTS),
    "unit": "sglang-kimi.service",
    "url": "http://127.0.0.1:30000",
    "served_model_name": "kimi-k2.5",
    "plan": PLAN,
    "deployment": AS_IT_WAS,
    "verdict": VERDICT,
    "estimate_seconds": 779,
    "installed": [],
    "page_on_host": "/records/plan.html",
}


class Summary(deployment_summary.ActionModule):
    """The action plugin with a host that has a page."""

    def __init__(self, page: str) -> None:
        self._task = SimpleNamespace(check_mode=False)
        self.options = {**OPTIONS, "page": page}

    def validate_argument_spec(self, *arguments: Any) -> Any:
        return None, self.options

    def _execute_module(self, **call: Any) -> Any:
        return {"content": base64.b64encode(b"<!DOCTYPE html>").decode()}


@pytest.fixture(autouse=True)
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(deployment_summary.ActionBase, "run", lambda self, tmp, task_vars: {})
    monkeypatch.setattr(deployment_summary.display, "display", lines.append)
    return lines


def test_the_page_is_fetched_and_named(tmp_path, shown):
    result = Summary(str(tmp_path / "kimi.html")).run(task_vars={})
    assert (result.get("failed"), (tmp_path / "kimi.html").read_text()) == (None, "<!DOCTYPE html>")
    assert f"page: {tmp_path / 'kimi.html'}" in shown[0]


def test_a_page_that_cannot_be_written_fails_below_the_lines(tmp_path, shown):
    result = Summary(str(tmp_path / "gone" / "kimi.html")).run(task_vars={})
    assert result["failed"] is True
    assert str(tmp_path / "gone") in result["msg"]
    assert "Verdict: passed: 2 checks, 1 skipped (memlock)" in shown[0]
    assert "page: /records/plan.html" in shown[0]
