# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A profile's rows on what does not run, or runs badly, with the reason. Private to the collection, may change any time.

{when: {compute_capability: "12.0", kv_cache_dtype: fp8_e4m3}, why: "Reports of March 2026 say that ...", level: refuse}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable

from ...core.errors import PlanningError
from ...core.fields import Fields, describe, is_number

_ADVICE = "see Profile in docs/interface.md"
_LEVELS = {"refuse": 1, "note": 1}


@dataclass(frozen=True)
class ProfileRule:
    """All conditions of `when` must hold. `level` is refuse, which force overrides, or note."""

    when: tuple[tuple[str, Any], ...]
    why: str
    level: str = "refuse"


def profile_rules_from(rows: Any) -> tuple[ProfileRule, ...]:
    """The rows under `refuses`; raises PlanningError with a sentence for one that says nothing clear."""
    fields = Fields({"refuses": rows}, "The profile", _ADVICE, PlanningError)
    return tuple(_row(row) for row in fields.rows("refuses", "A row of refuses in the profile"))


def _row(row: Fields) -> ProfileRule:
    when = row.within("when")
    for name, value in when.data.items():
        if name not in _VALUES:
            raise PlanningError(
                f"{row.where} has the condition '{str(name)[:60]}'; expected {', '.join(sorted(_VALUES))}: {_ADVICE}."
            )
        expected, good = _VALUES[name]
        if not good(value):
            raise PlanningError(f"{row.where} has {name} {describe(value)}; expected {expected}: {_ADVICE}.")
    if not when.data:
        raise PlanningError(f"{row.where} has no condition in when; expected {', '.join(sorted(_VALUES))}: {_ADVICE}.")
    level = row.choice("level", _LEVELS) if row.has("level") else "refuse"
    return ProfileRule(tuple(sorted(when.data.items())), row.text("why"), level)


def _text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _version(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"\d+\.\d+\.\d+", value) is not None


def _above_zero(value: Any) -> bool:
    return is_number(value) and value > 0


_VALUES: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "compute_capability": ('a text like "12.0"', _text),
    "engine_below": ('a version like "0.5.18"', _version),
    "gpu_memory_gib_below": ("a number of GiB above 0", _above_zero),
    "kv_cache_dtype": ("the name of a data type", _text),
    "quantization": ("the name of a quantisation", _text),
    "ranks_below": ("a number of ranks above 0", _above_zero),
}
