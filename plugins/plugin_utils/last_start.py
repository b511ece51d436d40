# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a start takes by what the last one took. Private to the collection, may change any time.

The plan keeps its estimate by rates: a plan that learned would differ from the recorded one on a host where nothing changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ALIKE = 0.01
"""A host cache is rounded to pages; this share of it more or less pins as long."""


def estimate_seconds(plan: Mapping[str, Any], calibration: Mapping[str, Any]) -> float:
    """What the last start took, if it was one of the same checkpoint, version, ranks and host cache; else the plan's estimate."""
    learned = last_start_seconds(plan, calibration)
    return float(plan["start"]["estimate_seconds"]) if learned is None else learned


def last_start_seconds(plan: Mapping[str, Any], calibration: Mapping[str, Any]) -> float | None:
    identity, taken = plan["model"].get("identity"), calibration.get("start_seconds")
    measured = calibration.get("model")
    same = (
        identity is not None
        and isinstance(measured, Mapping)
        and measured.get("identity") == identity
        and calibration.get("engine_version") == plan["engine"]["version"]
        and calibration.get("ranks") == plan["ranks"]
    )
    if not same or not isinstance(taken, (int, float)) or taken <= 0:
        return None
    pins, pinned = plan["host_cache"]["bytes_per_rank"], calibration.get("host_cache_bytes_per_rank") or 0
    return float(taken) if abs(pins - pinned) <= pins * _ALIKE else None
