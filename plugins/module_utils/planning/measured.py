# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an earlier start of this instance taught, where it still holds. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..core.errors import PlanningError
from .calibration import Calibration, calibration_from_dict
from .request import PlanRequest

# Flags that change how much of a card the weights take (0.5.9 to 0.5.23).
_LOAD_FLAGS = (
    "cpu-offload-gb",
    "disable-shared-experts-fusion",
    "dtype",
    "ep-num-redundant-experts",
    "ep-size",
    "expert-parallel-size",
    "json-model-override-args",
    "load-format",
    "moe-a2a-backend",
    "moe-runner-backend",
    "quantization",
    "torchao-config",
)
_GROUP_FLAGS = ("attn-dp-size", "dp-size")
_BATCH_FLAGS = ("cuda-graph-max-bs", "cuda-graph-max-bs-decode")


def measured_calibration(record: Any, request: PlanRequest) -> Calibration | None:
    """The figures of `calibration.json` where they speak of this checkpoint, version, number of ranks, cards and way to load; else None.

    Graphs count only where they are captured in the same way; another largest batch is taken in proportion.
    """
    try:
        found = calibration_from_dict(record)
    except PlanningError:  # a record that was edited until it cannot be read
        return None
    if not isinstance(record, Mapping) or not _speaks_of(record, found, request):
        return None
    drafts = _drafts_alike(record["arguments"], request)
    if not drafts:
        found = replace(found, draft_weights_bytes=None)
    if not drafts or not _same(record, request, _graph_flags):
        found = replace(found, graph_bytes=None)
    if (found.free_before_load_bytes, found.weights_bytes, found.graph_bytes) == (None, None, None):
        return None
    pp, dp = _shared(record)
    return replace(found, kind="measured", pp=pp, dp=dp, activation_bytes=request.calibration.activation_bytes)


def _speaks_of(record: Mapping[str, Any], found: Calibration, request: PlanRequest) -> bool:
    model = record.get("model")
    identity = model.get("identity") if isinstance(model, Mapping) else None
    return (
        bool(request.gpus)
        and identity is not None
        and identity == request.model.identity
        and record.get("engine_version") == request.rules.engine_version
        and found.ranks == request.ranks
        and found.fits(request.ranks, min(gpu.total_bytes for gpu in request.gpus))
        and _same(record, request, _load_flags)
        and _shared(record) == (request.serving.pp, request.serving.dp)
    )


def _same(record: Mapping[str, Any], request: PlanRequest, flags: Any) -> bool:
    arguments = record.get("arguments")
    return isinstance(arguments, Mapping) and flags(arguments) == flags(request.arguments)


def _shared(record: Mapping[str, Any]) -> tuple[int, int]:
    """Stages and attention groups of the measured start; the plan tells neither where there is one."""
    arguments = record["arguments"]
    return arguments.get("pp-size", 1), next((arguments[name] for name in _GROUP_FLAGS if name in arguments), 1)


def _drafts_alike(arguments: Mapping[str, Any], request: PlanRequest) -> bool:
    """Whether the same drafts then as now: what drafts brings weights and graphs of its own."""
    algorithm = request.serving.speculative_algorithm
    path = request.draft_model_path if algorithm else None
    return (arguments.get("speculative-algorithm"), arguments.get("speculative-draft-model-path")) == (algorithm, path)


def _load_flags(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: arguments[name] for name in _LOAD_FLAGS if name in arguments}


def _graph_flags(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if "cuda-graph" in name and name not in _BATCH_FLAGS}
