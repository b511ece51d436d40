# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a release is asked for. Private to the collection, may change any time."""

from __future__ import annotations

import pwd
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ..core.errors import ReleaseError

IDLE_MEMORY_BYTES = 600 << 20
"""More than an idle card was seen to show as used, and less than any engine's context and weights."""

NOBODY = -1
"""A user who does not exist, as the service's own before the first deployment: owns nothing."""


@dataclass(frozen=True)
class ReleaseRequest:
    """The options of the module gpu_release; `uid` stands for `user`. Seconds are real time."""

    gpus: tuple[str, ...] = ()
    unit: str | None = None
    uid: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    allow: tuple[str, ...] = ()
    grace_seconds: float = 30
    deadline_seconds: float = 180
    polls: int = 3
    poll_seconds: float = 1
    idle_memory_bytes: int = IDLE_MEMORY_BYTES
    evidence_since: str | None = None
    leftovers: bool = True
    scan_timeout_seconds: float = 20
    nvml_library: str | None = None
    nvml_timeout_seconds: float = 20


ARGUMENTS: dict[str, Any] = {
    "state": {"type": "str", "choices": ["listed", "released"], "default": "listed"},
    "gpus": {"type": "list", "elements": "str", "default": []},
    "unit": {"type": "str"},
    "user": {"type": "str"},
    "environment": {"type": "dict", "default": {}},
    "allow": {"type": "list", "elements": "str", "default": []},
    "grace_seconds": {"type": "float", "default": ReleaseRequest.grace_seconds},
    "deadline_seconds": {"type": "float", "default": ReleaseRequest.deadline_seconds},
    "polls": {"type": "int", "default": ReleaseRequest.polls},
    "poll_seconds": {"type": "float", "default": ReleaseRequest.poll_seconds},
    "idle_memory_bytes": {"type": "int", "default": ReleaseRequest.idle_memory_bytes},
    "evidence_since": {"type": "str"},
    "leftovers": {"type": "bool", "default": ReleaseRequest.leftovers},
    "scan_timeout_seconds": {"type": "float", "default": ReleaseRequest.scan_timeout_seconds},
    "nvml_library": {"type": "path"},
    "nvml_timeout_seconds": {"type": "float", "default": ReleaseRequest.nvml_timeout_seconds},
}

_LEAST = {"grace_seconds": 0, "idle_memory_bytes": 0, "polls": 1}
_MORE_THAN_NOTHING = ("deadline_seconds", "poll_seconds", "scan_timeout_seconds", "nvml_timeout_seconds")
_MOST_SECONDS = 86400
"""Of a wait. Python cannot wait for ever, nor for what is no number, and would only say so after the first signal."""


def read_request(params: Mapping[str, Any]) -> ReleaseRequest:
    """Raises ReleaseError for what makes no sense."""
    for name, least in _LEAST.items():
        if params[name] < least:
            raise ReleaseError(f"{name} is {params[name]:g}: {least} or more was expected.")
    for name in _MORE_THAN_NOTHING:
        if params[name] <= 0:
            raise ReleaseError(f"{name} is {params[name]:g}: more than 0 was expected.")
    for name in ("grace_seconds", *_MORE_THAN_NOTHING):
        if not params[name] <= _MOST_SECONDS:
            raise ReleaseError(f"{name} is {params[name]:g}: {_MOST_SECONDS} or less was expected.")
    names = [item.name for item in fields(ReleaseRequest) if item.name not in ("uid", "environment")]
    given: dict[str, Any] = {
        name: tuple(params[name]) if isinstance(params[name], list) else params[name] for name in names
    }
    environment = {name: str(value) for name, value in params["environment"].items()}
    return ReleaseRequest(
        **given, uid=None if params["user"] is None else uid_of(params["user"]), environment=environment
    )


def uid_of(user: str) -> int:
    """Of a name or a number."""
    if user.isdecimal():
        return int(user)
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        return NOBODY
