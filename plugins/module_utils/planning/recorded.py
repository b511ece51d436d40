# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Planning again where an instance was planned before. Private to the collection, may change any time.

A plan made while its instance runs must not read the memory that the instance itself takes: it stands on what the recorded plan stood on. Where
that gives the recorded plan again, nothing changed, and it is the plan to the last byte, whatever others took or were measured to take since.
Only a plan that differs anyway takes in what is known by now. So the plan of a run is always that of the next one too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Callable

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import InferenceError, PlanningError
from ansible_collections.blackwell.inference.plugins.module_utils.planning.fields import seen
from ansible_collections.blackwell.inference.plugins.module_utils.planning.host_seen import (
    OTHER_HARDWARE,
    UNKNOWN,
    GpuSeen,
    HostSeen,
    host_from_observation,
    idle_available_bytes,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.plan import MemoryPlan

_SINCE = "corrected by what other engines took since"

MakePlan = Callable[[HostSeen], MemoryPlan]


@dataclass(frozen=True)
class Recorded:
    """What an earlier run left: `host` is None where its plan is absent or was edited until it cannot be read; `faults` are sentences about that."""

    plan: Mapping[str, Any]
    host: HostSeen | None
    faults: tuple[str, ...] = ()

    @property
    def cards(self) -> tuple[int, ...] | None:
        """The indexes of the cards that the instance was planned for; None where the plan does not say."""
        gpu = self.plan.get("gpu")
        cards = gpu.get("cards") if isinstance(gpu, Mapping) else None
        return tuple(cards) if isinstance(cards, list) else None


def recorded_from_dict(data: Mapping[str, Any]) -> Recorded:
    """The `records` of deployment_info."""
    plan = data.get("plan")
    if plan is None:
        return Recorded({}, None)
    if not isinstance(plan, Mapping):
        return Recorded(
            {}, None, (f"The recorded plan is {seen(plan)} where a dictionary was expected: it is left aside.",)
        )
    try:
        return Recorded(plan, host_from_observation(plan.get("observation") or {}))
    except PlanningError as error:
        return Recorded(plan, None, (f"The recorded plan is left aside: {error}",))


def settled_plan(recorded: Recorded, fresh: HostSeen, instance_running: bool, make: MakePlan) -> MemoryPlan:
    """The recorded plan where it still holds, else one that stands on what is known now."""
    if not instance_running:
        return make(fresh)
    earlier = recorded.host
    if earlier is None:
        return make(_as_if_idle(fresh, UNKNOWN))
    if not earlier.same_hardware(fresh):
        return make(_as_if_idle(fresh, OTHER_HARDWARE))
    standing = replace(earlier, memlock_bytes=fresh.memlock_bytes, driver_error=fresh.driver_error)
    try:
        again = make(standing)
    except InferenceError:  # what is known now may allow it, else it is refused below
        again = None
    if again is not None and again.as_dict() == recorded.plan:
        return again
    return make(_since(standing, fresh, recorded.cards))


def _as_if_idle(fresh: HostSeen, source: str) -> HostSeen:
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


def _since(earlier: HostSeen, fresh: HostSeen, cards: tuple[int, ...] | None) -> HostSeen:
    """The earlier host, less what other engines took since, or gave back; cards that the instance does not use are as they are now."""
    now, then = dict(fresh.other_engines), dict(earlier.other_engines)
    taken = sum(now.values()) - sum(then.values())
    today = {gpu.index: gpu for gpu in fresh.gpus}
    gpus: tuple[GpuSeen, ...] = tuple(
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
