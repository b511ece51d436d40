# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The installation as a play shows it: sizes, elapsed, estimate; and how it ends."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.blackwell.inference.plugins.action import pinned_environment

GB = 10**9
SEEN = {
    "state": "running",
    "elapsed_seconds": 95.2,
    "collected": 57,
    "total": 156,
    "fetched_bytes": 2_310_000_000,
    "installing": 0,
    "installed_bytes": 40_000_000,
}


class Install(pinned_environment.ActionModule):
    """The action plugin with answers instead of a host."""

    def __init__(self, answers: list[Any]) -> None:
        self._task = SimpleNamespace(args={"path": "/opt/sglang/0.5.9-1a2b"}, check_mode=False)
        self.answers = iter(answers)
        self.calls: list[bool] = []

    def _execute_module(self, **call: Any) -> Any:
        self.calls.append(call["module_args"]["again"])
        return next(self.answers)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(pinned_environment.ActionBase, "run", lambda self, tmp, task_vars: {})
    monkeypatch.setattr(pinned_environment.display, "display", lines.append)
    return lines


def answer(**seen: Any) -> dict[str, Any]:
    return {"changed": True, "installation": {**SEEN, **seen}}


def test_progress_is_shown_every_half_minute(shown: list[str]) -> None:
    install = Install(
        [
            answer(),
            answer(elapsed_seconds=100),
            answer(elapsed_seconds=125, collected=156, installing=1, fetched_bytes=5 * GB, installed_bytes=3 * GB),
            answer(state="done"),
        ]
    )
    assert install.run(task_vars={"inventory_hostname": "gpu1"})["installation"]["state"] == "done"
    assert install.calls == [False, True, True, True]
    assert shown == [
        "gpu1: fetching for /opt/sglang/0.5.9-1a2b: 57 of 156 distributions, 2.3 GB fetched, 0.0 GB installed, 95 s of about 261 s",
        "gpu1: unpacking into /opt/sglang/0.5.9-1a2b: 156 of 156 distributions, 5.0 GB fetched, 3.0 GB installed, 125 s",
    ]


def test_an_installation_that_takes_one_call_says_nothing(shown: list[str]) -> None:
    install = Install([answer(state="done")])
    install.run(task_vars={})
    assert (install.calls, shown) == ([False], [])


@pytest.mark.parametrize("result", [{"failed": True, "msg": "pip said last: x"}, {"changed": True}])
def test_a_failure_and_a_check_end_at_once(shown: list[str], result: dict[str, Any]) -> None:
    assert Install([result]).run(task_vars={}) == result


def test_before_pip_came_to_anything_there_is_no_estimate() -> None:
    assert pinned_environment.progress_line("/opt/x", {**SEEN, "collected": 0}).endswith(", 95 s")
