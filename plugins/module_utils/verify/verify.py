# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the levels over the evidence, and sum them up. Private to the collection, may change any time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..core.text import iso
from .evidence import Evidence
from .host_memory import check_host_memory, gather_host_memory
from .journal import check_journal, gather_journal
from .server_info import check_server_info, gather_server_info
from .unit_and_api import check_api, check_unit, gather_api, gather_unit
from .verdict import FAILED, Check, Level

Facts = TypeVar("Facts")


@dataclass(frozen=True)
class Examination(Generic[Facts]):
    """A level: what it reads of the running instance, and what it makes of that."""

    name: str
    gather: Callable[[Evidence], Facts]
    check: Callable[[Facts], tuple[Check, ...]]


UNIT = Examination("unit", gather_unit, check_unit)
LEVELS: dict[str, Examination[Any]] = {
    level.name: level
    for level in (
        UNIT,
        Examination("api", gather_api, check_api),
        Examination("server_info", gather_server_info, check_server_info),
        Examination("journal", gather_journal, check_journal),
        Examination("host_memory", gather_host_memory, check_host_memory),
    )
}


def verify(evidence: Evidence, names: Sequence[str]) -> tuple[Level, ...]:
    """In the order of LEVELS, whatever that of the names. Only what these levels need is read."""
    asked = [level for name, level in LEVELS.items() if name in names]
    # The unit's level last: it sees a restart while the others were reading.
    facts = {level.name: level.gather(evidence) for level in sorted(asked, key=lambda level: level is UNIT)}
    return tuple(Level(level.name, level.check(facts[level.name])) for level in asked)


def verdict_of(
    levels: Sequence[Level], instance: str, invocation_id: str | None, started: str, finished: str
) -> dict[str, Any]:
    return {
        "schema": 1,
        "instance": instance,
        "passed": all(level.passed for level in levels),
        "started": started,
        "finished": finished,
        "invocation_id": invocation_id,
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
