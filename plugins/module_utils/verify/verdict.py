# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The outcome of verification: checks, levels of checks, and a verdict. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Callable

from .planned import Tolerance

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at. `message` is a sentence: what was seen where, what was expected, and when they differ what to do."""

    name: str
    outcome: str
    expected: Any
    seen: Any
    source: str
    message: str


@dataclass(frozen=True)
class Level:
    level: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        return all(check.outcome != FAILED for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        return {"level": self.level, "passed": self.passed, "checks": [asdict(check) for check in self.checks]}


def plain(value: Any) -> str:
    return "nothing" if value is None else str(value)


def same(name: str, expected: Any, seen: Any, source: str, advice: str, show: Callable[[Any], str] = plain) -> Check:
    """A value that must be exactly the expected one."""
    if seen == expected:
        return Check(name, PASSED, expected, seen, source, f"{source} shows {name} {show(seen)}, as expected.")
    return Check(
        name,
        FAILED,
        expected,
        seen,
        source,
        f"{source} shows {name} {show(seen)}; {show(expected)} was expected. {advice}",
    )


def near(
    name: str,
    expected: int,
    seen: int | None,
    source: str,
    tolerance: Tolerance,
    advice: str,
    show: Callable[[int], str],
) -> Check:
    """A number that must lie within a tolerance of the expected one."""
    if seen is None:
        return missing(name, expected, source, f"{show(expected)} was expected. {advice}")
    if abs(seen - expected) <= tolerance.size:
        return Check(
            name,
            PASSED,
            expected,
            seen,
            source,
            f"{source} shows {name} {show(seen)}, within {show(tolerance.size)} of {show(expected)}.",
        )
    message = f"{source} shows {name} {show(seen)}; {show(expected)} was expected, give or take {show(tolerance.size)} ({tolerance.reason}). {advice}"
    return Check(name, FAILED, expected, seen, source, message)


def missing(name: str, expected: Any, source: str, rest: str) -> Check:
    return Check(name, FAILED, expected, None, source, f"{source} shows no {name}; {rest}")


def skipped(name: str, expected: Any, seen: Any, source: str, why: str) -> Check:
    return Check(name, SKIPPED, expected, seen, source, f"skipped: {why}")


def on_cpu(name: str, source: str) -> Check:
    """A GPU line of a server that runs on a CPU."""
    return skipped(name, None, None, source, "device cpu")
