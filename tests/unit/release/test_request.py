# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the options of gpu_release come to, and which are refused."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import ReleaseError
from ansible_collections.blackwell.inference.plugins.module_utils.release.request import (
    ARGUMENTS,
    NOBODY,
    ReleaseRequest,
    read_request,
)


def params(**given: Any) -> dict[str, Any]:
    """As AnsibleModule gives them."""
    return {**{name: option.get("default") for name, option in ARGUMENTS.items()}, **given}


def test_nothing_given_selects_nobody():
    request = read_request(params())
    assert request == ReleaseRequest()
    assert (request.unit, request.uid, request.environment, request.allow) == (None, None, {}, ())


def test_what_is_given():
    given = {"gpus": ["0", "GPU-5e1f"], "unit": "sglang-kimi.service", "allow": ["/usr/bin/ollama"]}
    seconds = {"grace_seconds": 0, "deadline_seconds": 0.5, "poll_seconds": 0.1}
    more = {"polls": 1, "idle_memory_bytes": 0, "evidence_since": "-2h", "leftovers": False}
    environment = {"BLACKWELL_INSTANCE": "kimi", "RANKS": 8}
    assert read_request(params(**given, **seconds, **more, environment=environment, user="990")) == ReleaseRequest(
        gpus=("0", "GPU-5e1f"),
        unit="sglang-kimi.service",
        uid=990,
        environment={"BLACKWELL_INSTANCE": "kimi", "RANKS": "8"},
        allow=("/usr/bin/ollama",),
        **seconds,
        **more,
    )


@pytest.mark.parametrize(("user", "uid"), [("root", 0), ("0", 0), ("4000000", 4000000), ("no-such-user", NOBODY)])
def test_users(user: str, uid: int):
    assert read_request(params(user=user)).uid == uid


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"grace_seconds": -0.5}, "grace_seconds is -0.5: 0 or more was expected."),
        ({"idle_memory_bytes": -1}, "idle_memory_bytes is -1: 0 or more was expected."),
        ({"polls": 0}, "polls is 0: 1 or more was expected."),
        ({"deadline_seconds": 0}, "deadline_seconds is 0: more than 0 was expected."),
        ({"poll_seconds": 0}, "poll_seconds is 0: more than 0 was expected."),
        ({"scan_timeout_seconds": -20}, "scan_timeout_seconds is -20: more than 0 was expected."),
        ({"nvml_timeout_seconds": 0}, "nvml_timeout_seconds is 0: more than 0 was expected."),
        ({"grace_seconds": float("nan")}, "grace_seconds is nan: 86400 or less was expected."),
        ({"deadline_seconds": float("inf")}, "deadline_seconds is inf: 86400 or less was expected."),
        ({"scan_timeout_seconds": 1e9}, "scan_timeout_seconds is 1e+09: 86400 or less was expected."),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], message: str):
    with pytest.raises(ReleaseError) as refused:
        read_request(params(**given))
    assert str(refused.value) == message
