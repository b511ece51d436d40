# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Planning again where an instance was planned before, with what its earlier start taught. Private to the collection, may change any time.

A plan made while its instance runs must not read the memory that the instance itself takes: it stands on what the recorded plan stood on. Where
that gives the recorded plan again, nothing changed, and it is the plan to the last byte, whatever others took or were measured to take since.
Only a plan that differs anyway takes in what is known by now. So the plan of a run is always that of the next one too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Callable

from ..core.errors import InferenceError, PlanningError
from ..core.fields import describe
from .plan import MemoryPlan
from .request.calibration import Calibration, calibration_from_dict
from .request.host import OTHER_HARDWARE, UNKNOWN, GpuState, HostState, host_from_observation, idle_available_bytes
from .request.request import PlanRequest

# Flags that change how much of a card the weights take (since 0.5.9).
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


_SINCE = "corrected by what other engines took since"

MakePlan = Callable[[PlanRequest], MemoryPlan]


@dataclass(frozen=True)
class Recorded:
    """What an earlier run left: `host` is None where its plan is absent or was edited until it cannot be read; `faults` are sentences about that."""

    plan: Mapping[str, Any]
    host: HostState | None
    faults: tuple[str, ...] = ()
    calibration: Any = None
    failed: bool = False  # the last verification failed

    @property
    def cards(self) -> tuple[int, ...] | None:
        """The indexes of the cards that the instance was planned for; None where the plan does not say."""
        gpu = self.plan.get("gpu")
        cards = gpu.get("cards") if isinstance(gpu, Mapping) else None
        return tuple(cards) if isinstance(cards, list) else None


def recorded_from_dict(data: Mapping[str, Any]) -> Recorded:
    """The `records` of deployment_info."""
    plan, verdict, measured = (data.get(name) for name in ("plan", "verdict", "calibration"))
    failed = isinstance(verdict, Mapping) and verdict.get("passed") is False
    if plan is None:
        return Recorded({}, None, (), measured, failed)
    if not isinstance(plan, Mapping):
        fault = f"The recorded plan is {describe(plan)} where a dictionary was expected: it is left aside."
        return Recorded({}, None, (fault,), measured, failed)
    try:
        return Recorded(plan, host_from_observation(plan.get("observation") or {}), (), measured, failed)
    except PlanningError as error:
        return Recorded(plan, None, (f"The recorded plan is left aside: {error}",), measured, failed)


def plan_or_keep(recorded: Recorded, request: PlanRequest, instance_running: bool, make: MakePlan) -> MemoryPlan:
    """The recorded plan where it still holds, else one that stands on what is known now. `request` stands on the host as it is seen now."""
    fresh, earlier = request.host, recorded.host
    if not instance_running:
        return make(_measured(recorded, request))
    if earlier is None or not earlier.same_hardware(fresh):
        source = UNKNOWN if earlier is None else OTHER_HARDWARE
        return make(_measured(recorded, replace(request, host=_as_if_idle(fresh, source))))
    standing = replace(earlier, memlock_bytes=fresh.memlock_bytes, driver_error=fresh.driver_error)
    again = _recorded_plan_again(recorded, replace(request, host=standing), make)
    if again is None:
        return make(_measured(recorded, replace(request, host=_less_other_engines(standing, fresh, recorded.cards))))
    # A plan that its own start proved wrong is corrected by what that start measured; nothing of it need be started again.
    return make(_measured(recorded, again.request)) if recorded.failed else again


def _recorded_plan_again(recorded: Recorded, request: PlanRequest, make: MakePlan) -> MemoryPlan | None:
    """The recorded plan, made once more of what it was made of; None where that gives another one, or none at all."""
    try:
        if recorded.plan.get("calibration") is not None:
            calibration = calibration_from_dict(recorded.plan["calibration"])
            calibration = replace(calibration, activation_bytes=request.calibration.activation_bytes)
            request = replace(request, calibration=calibration, recorded_calibration=True)
        plan = make(request)
    except InferenceError:  # what is known now may allow it
        return None
    return plan if plan.as_dict() == recorded.plan else None


def _measured(recorded: Recorded, request: PlanRequest) -> PlanRequest:
    """With the figures that the last start of this instance left, where they hold; they beat those of a profile."""
    found = measured_calibration(recorded.calibration, request)
    return request if found is None else replace(request, calibration=found, recorded_calibration=True)


def _as_if_idle(fresh: HostState, source: str) -> HostState:
    """What the host would offer without the instance that runs on it, from totals alone and less what other engines hold."""
    others = sum(size for _unit, size in fresh.other_engines)
    limit = fresh.cgroup_limit_bytes
    return replace(
        fresh,
        gpus=tuple(replace(gpu, free_bytes=None, source=UNKNOWN) for gpu in fresh.gpus),
        memory_available_bytes=max(0, idle_available_bytes(fresh.memory_total_bytes) - others),
        memory_source=source,
        cgroup_headroom_bytes=None if limit is None else max(0, limit - others),
    )


def _less_other_engines(earlier: HostState, fresh: HostState, cards: tuple[int, ...] | None) -> HostState:
    """The earlier host, less what other engines took since, or gave back; cards that the instance does not use are as they are now."""
    now, then = dict(fresh.other_engines), dict(earlier.other_engines)
    taken = sum(now.values()) - sum(then.values())
    today = {gpu.index: gpu for gpu in fresh.gpus}
    gpus: tuple[GpuState, ...] = tuple(
        gpu if cards is None or gpu.index in cards else today[gpu.index] for gpu in earlier.gpus
    )
    if taken == 0:
        return replace(earlier, gpus=gpus)
    headroom = earlier.cgroup_headroom_bytes
    return replace(
        earlier,
        gpus=gpus,
        memory_available_bytes=min(max(0, earlier.memory_available_bytes - taken), earlier.memory_total_bytes),
        memory_source=f"{earlier.memory_source.partition(',')[0]}, {_SINCE}",
        cgroup_headroom_bytes=None if headroom is None else max(0, headroom - taken),
        other_engines=fresh.other_engines,
    )
