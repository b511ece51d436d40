# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts cases to an engine and sets its answers beside ours."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import environments

PROBE = Path(__file__).resolve().parent / "engine_side" / "probe.py"
SEED = int(os.environ.get("CONFORMANCE_SEED", "20261129"))
COUNT = int(os.environ.get("CONFORMANCE_CASES", "200"))
_SHOWN = 3


def generated(family: str, make: Callable[[random.Random], dict[str, Any]]) -> list[dict[str, Any]]:
    """COUNT cases; a family's depend on the seed and its name alone."""
    rng = random.Random(f"{SEED} {family}")
    return [make(rng) for _case in range(COUNT)]


def answers(version: str, subject: str, cases: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the engine of this version says to each case, in order."""
    engine = environments.engine(version)
    asked = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run(
        [str(engine.python), "-W", "ignore", str(PROBE), subject],
        input=asked,
        env=engine.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(results) == len(cases), f"{len(results)} answers to {len(cases)} cases:\n{done.stderr[-4000:]}"
    return results


def nothing_broken(version: str, results: Sequence[dict[str, Any]]) -> None:
    """Whatever is no answer and no refusal of the engine's is an error of this lane."""
    broken = [result["broken"] for result in results if "broken" in result]
    assert not broken, f"{len(broken)} cases could not be put to SGLang {version}; the first:\n{broken[0]}"


def differences(
    cases: Sequence[dict[str, Any]], theirs: Sequence[dict[str, Any]], ours: Sequence[dict[str, Any]]
) -> list[str]:
    """A text for each case where a value of the engine's is not ours; a refusal must be one on both sides. None of ours: it is not compared."""
    found = []
    for case, their, our in zip(cases, theirs, ours, strict=True):
        if "refused" in their or "refused" in our:
            differs = {} if "refused" in their and "refused" in our else {"refused": (our, their)}
        else:
            pairs = {key: (our.get(key), value) for key, value in their.items()}
            differs = {
                key: pair
                for key, pair in pairs.items()
                if pair[0] != pair[1] and (key not in our or pair[0] is not None)
            }
        if differs:
            told = "; ".join(f"{key}: ours {mine}, the engine's {its}" for key, (mine, its) in differs.items())
            found.append(f"{told}\n    {json.dumps(case)}")
    return found


def told(found: Sequence[str], count: int) -> str:
    return f"{len(found)} of {count} differ (seed {SEED}):\n" + "\n".join(found[:_SHOWN])
