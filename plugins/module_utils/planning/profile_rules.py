# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether what a profile warns of holds for this request. Private to the collection, may change any time.

What is not known, such as the compute capability of cards given as data, does not hold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Callable

from ..core.errors import Refusal
from ..core.units import GIB
from .request.profile_rule import ProfileRule
from .request.request import PlanRequest


def suitability_refusals(request: PlanRequest) -> tuple[Refusal, ...]:
    """One for each row that holds. Forced ones are among them, as of every refusal."""
    return tuple(
        Refusal("unsuited", f"{request.model.name}: {row.why} Change what it names.")
        for row in _holding(request, "refuse")
    )


def suitability_notes(request: PlanRequest) -> tuple[str, ...]:
    return tuple(f"{request.model.name}: {row.why}" for row in _holding(request, "note"))


def _holding(request: PlanRequest, level: str) -> tuple[ProfileRule, ...]:
    return tuple(
        row
        for row in request.profile_rules
        if row.level == level and all(_HOLDS[name](value, request) for name, value in row.when)
    )


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _older(value: Any, request: PlanRequest) -> bool:
    return _release(request.rules.engine_version) < _release(value)


def _smaller(value: Any, request: PlanRequest) -> bool:
    return any(gpu.total_bytes < value * GIB for gpu in request.gpus)


_HOLDS: Mapping[str, Callable[[Any, PlanRequest], bool]] = {
    "compute_capability": lambda value, request: value in request.host.compute_capabilities,
    "engine_below": _older,
    "gpu_memory_gib_below": _smaller,
    "kv_cache_dtype": lambda value, request: request.kv_cache_dtype == value,
    "quantization": lambda value, request: request.model.quantization == value,
    "ranks_below": lambda value, request: request.ranks < value,
}
