# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the levels over the evidence, and sum them up. Private to the collection, may change any time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from ..core.text import iso
from .device_memory import check_journal
from .evidence import Evidence
from .host_memory import check_host_memory
from .server_info import check_server_info
from .unit_and_api import check_api, check_unit
from .verdict import FAILED, Check, Level

LEVELS: dict[str, Callable[[Evidence], tuple[Check, ...]]] = {
    "unit": check_unit,
    "api": check_api,
    "server_info": check_server_info,
    "journal": check_journal,
    "host_memory": check_host_memory,
}


def verify(evidence: Evidence, levels: Sequence[str]) -> tuple[Level, ...]:
    return tuple(Level(name, check(evidence)) for name, check in LEVELS.items() if name in levels)


def verdict_of(
    evidence: Evidence, levels: Sequence[Level], instance: str, started: str, finished: str
) -> dict[str, Any]:
    return {
        "schema": 1,
        "instance": instance,
        "passed": all(level.passed for level in levels),
        "started": started,
        "finished": finished,
        "invocation_id": evidence.unit.invocation_id,
        "levels": [level.as_dict() for level in levels],
    }


def failures(levels: Sequence[Level]) -> list[str]:
    """One sentence for each failed check, with the level and the name it failed by."""
    return [
        f"[{level.level}] {check.name}: {check.message}"
        for level in levels
        for check in level.checks
        if check.outcome == FAILED
    ]


def now() -> str:
    return iso(time.time())
