# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The wait on the controller: what is shown, what is passed on, and a connection that drops."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ansible.errors import AnsibleConnectionFailure

from ansible_collections.blackwell.inference.plugins.action import server_ready

GIB = 1 << 30
LOADING = {
    "state": "loading",
    "phase": "loading weights",
    "shards_loaded": 12,
    "shards_total": 64,
    "pinned_bytes": 0,
    "elapsed_seconds": 95.4,
    "estimate_seconds": 430.0,
    "silent_seconds": 1.0,
}


class Wait(server_ready.ActionModule):
    """The action plugin with answers instead of a host; an exception among them is raised."""

    def __init__(self, answers: list[Any], check: bool = False) -> None:
        self._task = SimpleNamespace(args={"unit": "sglang-kimi.service", "api_key": "k-123"}, check_mode=check)
        self._connection = SimpleNamespace(reset=lambda: self.resets.append(True))
        self.answers = iter(answers)
        self.watches: list[Any] = []
        self.resets: list[bool] = []

    def _execute_module(self, **call: Any) -> Any:
        self.watches.append(call["module_args"]["watch"])
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        return answer


def answer(watch: int, **readiness: Any) -> dict[str, Any]:
    return {"readiness": {**LOADING, **readiness}, "watch": {"look": watch}}


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(server_ready.ActionBase, "run", lambda self, tmp, task_vars: {})
    monkeypatch.setattr(server_ready.display, "display", lines.append)
    monkeypatch.setattr(server_ready.time, "sleep", lambda seconds: None)
    return lines


def test_progress_is_shown_when_it_changes_and_every_half_minute(shown: list[str]) -> None:
    wait = Wait(
        [
            answer(1),
            answer(2, elapsed_seconds=100),
            answer(3, shards_loaded=13, elapsed_seconds=101),
            answer(4, shards_loaded=13, elapsed_seconds=121, silent_seconds=31),
            answer(5, phase="pinning host memory", shards_loaded=64, pinned_bytes=45 * GIB, elapsed_seconds=122),
            answer(6, phase="ready", state="ready", elapsed_seconds=200),
        ]
    )
    result = wait.run(task_vars={})
    assert result["readiness"]["state"] == "ready"
    assert "watch" not in result
    assert wait.watches == [None, {"look": 1}, {"look": 2}, {"look": 3}, {"look": 4}, {"look": 5}]
    assert shown == [
        "sglang-kimi.service: loading weights, 12/64 shards, 0 GiB pinned, 95 s of about 430 s",
        "sglang-kimi.service: loading weights, 13/64 shards, 0 GiB pinned, 101 s of about 430 s",
        "sglang-kimi.service: loading weights, 13/64 shards, 0 GiB pinned, 121 s of about 430 s, nothing moved for 31 s",
        "sglang-kimi.service: pinning host memory, 64/64 shards, 45 GiB pinned, 122 s of about 430 s",
    ]


def test_a_server_that_is_ready_takes_one_call(shown: list[str]) -> None:
    wait = Wait([answer(1, state="ready")])
    wait.run(task_vars={})
    assert (len(wait.watches), shown) == (1, [])


def test_check_mode_takes_one_look(shown: list[str]) -> None:
    wait = Wait([answer(1)], check=True)
    assert wait.run(task_vars={})["readiness"]["state"] == "loading"
    assert (len(wait.watches), shown) == (1, [])


def test_a_failure_of_the_module_is_passed_on(shown: list[str]) -> None:
    failed = {"failed": True, "msg": "journalctl could not be run"}
    assert Wait([failed]).run(task_vars={}) == failed


def test_a_connection_that_drops_in_the_middle_is_made_again(shown: list[str]) -> None:
    wait = Wait(
        [answer(1), AnsibleConnectionFailure("reset"), AnsibleConnectionFailure("refused"), answer(2, state="ready")]
    )
    assert wait.run(task_vars={})["readiness"]["state"] == "ready"
    assert wait.watches[1:] == [{"look": 1}] * 3
    assert len(wait.resets) == 2
    assert shown[1:] == [
        "sglang-kimi.service: the connection dropped (reset); trying again in 1 s",
        "sglang-kimi.service: the connection dropped (refused); trying again in 2 s",
    ]


def test_a_host_that_was_never_reached_is_unreachable(shown: list[str]) -> None:
    with pytest.raises(AnsibleConnectionFailure):
        Wait([AnsibleConnectionFailure("no route")]).run(task_vars={})


def test_a_host_that_does_not_come_back_is_unreachable_in_the_end(shown: list[str]) -> None:
    drops = [AnsibleConnectionFailure("no route")] * (len(server_ready.RECONNECT_SECONDS) + 1)
    with pytest.raises(AnsibleConnectionFailure):
        Wait([answer(1), *drops]).run(task_vars={})


def test_no_estimate_and_no_shards_are_not_shown() -> None:
    line = server_ready.progress_line({**LOADING, "estimate_seconds": None, "shards_total": None})
    assert line == "loading weights, 0 GiB pinned, 95 s"


@pytest.mark.parametrize(
    ("silent", "says"),
    [
        (1.0, "93 s, longer than the estimated 41 s, still making progress"),
        (31.0, "93 s, longer than the estimated 41 s, nothing moved for 31 s"),
    ],
)
def test_a_start_that_outlives_its_estimate_is_told_to_move_if_it_does(silent: float, says: str) -> None:
    line = server_ready.progress_line(
        {**LOADING, "elapsed_seconds": 93.2, "estimate_seconds": 41.0, "silent_seconds": silent}
    )
    assert line == f"loading weights, 12/64 shards, 0 GiB pinned, {says}"
