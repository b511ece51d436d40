# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loading, ready, hung, failed, dead or stopped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.systemd import UnitState
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.milestones import Milestone
from ansible_collections.blackwell.inference.plugins.module_utils.wait.readiness import StartSnapshot, judge_start

UNIT = UnitState(
    name="sglang-kimi.service",
    load_state="loaded",
    active_state="active",
    sub_state="running",
    unit_file_state="enabled",
    fragment_path=None,
    drop_ins=(),
    need_daemon_reload=False,
    main_pid=4711,
    invocation_id="a",
    result="success",
    n_restarts=0,
    control_group=None,
    cgroup_memory_bytes=None,
)
LOADING = StartSnapshot(
    unit=UNIT,
    engine="SGLang 0.5.9",
    first_invocation="a",
    first_restarts=0,
    start_queued=False,
    milestone=Milestone("loading weights", 12, 64),
    serving=False,
    api_said="not asked yet",
    silent_seconds=10,
    stall_seconds=300,
    elapsed_seconds=95,
)
UP = replace(LOADING, milestone=Milestone("ready", 64, 64, True), serving=True)
WHERE = "loading weights (12 of 64 shards), 95 s after the start of SGLang 0.5.9"

CASES: list[tuple[str, StartSnapshot, dict[str, Any], str, str | None]] = [
    ("loads", LOADING, {}, "loading", None),
    (
        "loads behind a gate in ExecStartPost",
        LOADING,
        {"active_state": "activating", "sub_state": "start-post"},
        "loading",
        None,
    ),
    (
        "runs what comes before the start",
        LOADING,
        {"active_state": "activating", "sub_state": "start-pre"},
        "loading",
        None,
    ),
    ("is up", UP, {}, "ready", None),
    ("is up behind a gate", UP, {"active_state": "activating", "sub_state": "start-post"}, "loading", None),
    ("is up, and the API does not answer yet", replace(UP, serving=False), {}, "loading", None),
    ("answers without having said that it is up", replace(LOADING, serving=True), {}, "loading", None),
    ("answers, and the journal has lost its start", replace(UP, milestone=Milestone()), {}, "ready", None),
    (
        "hangs",
        replace(LOADING, silent_seconds=301),
        {},
        "hung",
        "sglang-kimi.service hangs: nothing moved for 301 s (stall_seconds is 300), while it was "
        + WHERE
        + ". New journal lines, bytes read, growing memory or new processes were expected; the API said: not asked yet. {why}",
    ),
    (
        "is up, and the API hangs",
        replace(UP, serving=False, silent_seconds=300, api_said="timed out"),
        {},
        "hung",
        "sglang-kimi.service hangs: nothing moved for 300 s (stall_seconds is 300), while it was up by its own word, 95 s after the start of SGLang 0.5.9. "
        "New journal lines, bytes read, growing memory or new processes were expected; the API said: timed out. {why}",
    ),
    (
        "failed",
        LOADING,
        {"active_state": "failed", "result": "exit-code"},
        "failed",
        f"sglang-kimi.service failed (systemd: exit-code). It was last seen {WHERE}. {{why}}",
    ),
    (
        "failed before anybody looked",
        replace(LOADING, first_invocation=None),
        {"active_state": "failed", "result": "oom-kill"},
        "failed",
        f"sglang-kimi.service failed (systemd: oom-kill). It was last seen {WHERE}. {{why}}",
    ),
    (
        "failed once, and is queued to start",
        replace(LOADING, first_invocation=None, start_queued=True),
        {"active_state": "failed"},
        "loading",
        None,
    ),
    (
        "waits for its restart",
        LOADING,
        {"active_state": "activating", "sub_state": "auto-restart"},
        "failed",
        f"sglang-kimi.service ended and is started again while it is waited for, which counts as a failed start. It was last seen {WHERE}. {{why}}",
    ),
    (
        "was restarted by systemd",
        UP,
        {"n_restarts": 1},
        "failed",
        "sglang-kimi.service ended and is started again while it is waited for, which counts as a failed start. "
        "It was last seen up by its own word, 95 s after the start of SGLang 0.5.9. {why}",
    ),
    (
        "was restarted by somebody",
        UP,
        {"invocation_id": "b"},
        "failed",
        "sglang-kimi.service ended and is started again while it is waited for, which counts as a failed start. "
        "It was last seen up by its own word, 95 s after the start of SGLang 0.5.9. {why}",
    ),
    ("has restarted once, long ago", replace(UP, first_restarts=1), {"n_restarts": 1}, "ready", None),
    (
        "left by itself",
        LOADING,
        {"active_state": "inactive", "main_pid": 0},
        "dead",
        "sglang-kimi.service ended without an error while it was waited for (systemd: success); somebody stopped it, or the engine left by itself. "
        f"It was last seen {WHERE}. {{why}}",
    ),
    (
        "was never started",
        replace(LOADING, first_invocation=None),
        {"active_state": "inactive"},
        "stopped",
        "sglang-kimi.service is inactive and no start of it is queued. A unit that is starting or running was expected; "
        "start it with: systemctl start sglang-kimi.service.",
    ),
    (
        "is queued to start",
        replace(LOADING, first_invocation=None, start_queued=True),
        {"active_state": "inactive"},
        "loading",
        None,
    ),
    ("is up, and queued to restart", replace(UP, first_invocation=None, start_queued=True), {}, "loading", None),
    (
        "is being stopped before its restart",
        replace(LOADING, first_invocation=None),
        {"active_state": "deactivating"},
        "loading",
        None,
    ),
    (
        "is not installed",
        replace(LOADING, first_invocation=None),
        {"load_state": "not-found", "active_state": "inactive"},
        "stopped",
        "sglang-kimi.service is not installed (systemd: not-found). A unit that is starting or running was expected; deploy the instance first.",
    ),
]


@pytest.mark.parametrize(
    ("snapshot", "unit", "state", "sentence"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_the_state_of_a_start(snapshot: StartSnapshot, unit: dict[str, Any], state: str, sentence: str | None) -> None:
    assert judge_start(replace(snapshot, unit=replace(UNIT, **unit))) == (state, sentence)


def test_a_start_ten_times_slower_than_any_estimate_that_still_moves_is_loading() -> None:
    assert judge_start(replace(LOADING, elapsed_seconds=43_000, silent_seconds=299))[0] == "loading"
