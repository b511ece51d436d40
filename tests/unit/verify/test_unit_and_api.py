# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Levels `unit` and `api`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.sglang.api import Answer
from ansible_collections.blackwell.inference.plugins.module_utils.verify.unit_and_api import check_api, check_unit
from ansible_collections.blackwell.inference.tests.unit.verify.design_host import (
    API_FACTS,
    UNIT,
    UNIT_FACTS,
    failed,
    skipped,
)


def test_the_design_hosts_unit_and_api_are_right() -> None:
    assert failed((*check_unit(UNIT_FACTS), *check_api(API_FACTS))) == {}
    assert skipped((*check_unit(UNIT_FACTS), *check_api(API_FACTS))) == {}


@pytest.mark.parametrize(
    ("change", "name", "message"),
    [
        (
            {"unit": replace(UNIT, active_state="activating")},
            "active state",
            "systemd shows active state activating; active was expected. Read why with: systemctl status sglang-kimi.service.",
        ),
        (
            {"unit": replace(UNIT, unit_file_state="disabled")},
            "unit file state",
            "systemd shows unit file state disabled; enabled was expected. "
            "It would not start after a reboot; enable it with: systemctl enable sglang-kimi.service.",
        ),
        (
            {"unit_properties": {"LimitMEMLOCK": "8388608", "KillMode": "control-group"}},
            "LimitMEMLOCK",
            "systemd shows LimitMEMLOCK 8388608; infinity was expected. Deploy again, and look for a drop-in that changes the unit.",
        ),
        (
            {"unit_properties": {"LimitMEMLOCK": "infinity"}},
            "KillMode",
            "systemd shows KillMode nothing; control-group was expected. Deploy again, and look for a drop-in that changes the unit.",
        ),
        (
            {"memlock": "8388608"},
            "locked memory limit",
            "/proc/4711/limits shows locked memory limit 8388608; unlimited was expected. The host cache cannot be pinned; raise LimitMEMLOCK of the unit.",
        ),
        (
            {"invocation_after": "b2"},
            "invocation",
            "systemd shows invocation b2; a1 was expected. The unit was started anew while it was being verified, so what was verified no longer runs; "
            "wait until it is ready and verify again.",
        ),
    ],
    ids=["not active", "not enabled", "another limit", "another kill mode", "limit has no effect", "restarted"],
)
def test_one_wrong_thing_of_the_unit(change: dict[str, Any], name: str, message: str) -> None:
    assert failed(check_unit(replace(UNIT_FACTS, **change))) == {name: message}


def test_a_container_that_allows_nobody_more_is_not_the_units_fault() -> None:
    checks = check_unit(replace(UNIT_FACTS, memlock="8388608", manager_memlock="8388608"))
    assert failed(checks) == {}
    assert skipped(checks) == {
        "locked memory limit": "skipped: this container allows 8388608 bytes to systemd itself, and no unit more"
    }


def test_limits_that_nobody_may_read() -> None:
    assert skipped(check_unit(replace(UNIT_FACTS, memlock=None))) == {
        "locked memory limit": "skipped: the limits of the process cannot be read"
    }


def test_without_declared_values_only_the_state_counts() -> None:
    names = [check.name for check in check_unit(replace(UNIT_FACTS, expected_unit={}))]
    assert names == ["active state", "unit file state", "invocation"]


@pytest.mark.parametrize(
    ("change", "name", "message"),
    [
        (
            {"listener_is_ours": False, "listener_said": "process 99 of other.service"},
            "listener",
            "process 99 of other.service listens on port 30000; a process of sglang-kimi.service was expected. "
            "Another server answers in the unit's place, or the port is not the unit's; stop it, or correct the port, then restart the unit.",
        ),
        (
            {"models": Answer(200, {"data": [{"id": "qwen"}]})},
            "served model",
            "/v1/models lists qwen; kimi-k2.5 was expected. Another server answers here, or served-model-name differs; check port and arguments.",
        ),
        (
            {"models": Answer(401)},
            "served model",
            "/v1/models answered HTTP 401 without the JSON that was expected; a list with kimi-k2.5 was expected. Read the unit's journal.",
        ),
        (
            {"chat": Answer(200, {"choices": [{"message": {"content": "", "reasoning_content": None}}]})},
            "chat completion",
            "/v1/chat/completions answered without any text; text in content or reasoning_content was expected. "
            "Read the unit's journal; the request asks for a few tokens at temperature 0.",
        ),
        (
            {"chat": Answer(error="timed out")},
            "chat completion",
            "/v1/chat/completions answered timed out; text in content or reasoning_content was expected. "
            "Read the unit's journal; the request asks for a few tokens at temperature 0.",
        ),
    ],
    ids=["swapped underneath", "another model", "key refused", "says nothing", "no answer"],
)
def test_one_wrong_thing_of_the_api(change: dict[str, Any], name: str, message: str) -> None:
    assert failed(check_api(replace(API_FACTS, **change))) == {name: message}
