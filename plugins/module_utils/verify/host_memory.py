# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Level `host_memory`: what the server and others took of the host, against the plan. Private to the collection, may change any time."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ..core.units import gb_text, gib_text
from ..deploy.state import other_engines
from ..observe.files import kstat, meminfo, text_of
from ..observe.process import CGROUP2_MOUNTS
from ..wait.progress import Counters, count
from .evidence import Evidence
from .planned import COUNTED_TWICE_SHARE, PINNED_SHARE, SWAP, Planned, Tolerance
from .verdict import FAILED, PASSED, Check, near, on_cpu, same, skipped

_OOM_KILLS = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)
FRESH_SECONDS = 600
"""So long after a start the host is as it was planned: what is missing then, and nobody known took, the start took itself."""


@dataclass(frozen=True)
class HostMemoryFacts:
    planned: Planned
    seconds_since_start: float | None  # None where the journal no longer holds the end of the start
    available_bytes: int | None
    zfs_arc_bytes: int
    other_engines: Mapping[str, int]
    meminfo_is_shared: bool  # a container without a meminfo of its own
    memory: Counters
    oom_kills: int | None


def gather_host_memory(evidence: Evidence) -> HostMemoryFacts:
    unit, fired_up = evidence.unit, evidence.start.fired_up
    return HostMemoryFacts(
        planned=evidence.question.planned,
        seconds_since_start=None if fired_up is None else time.time() - fired_up / 1e6,
        available_bytes=meminfo(text_of("/proc/meminfo")).get("MemAvailable"),
        zfs_arc_bytes=kstat(text_of("/proc/spl/kstat/zfs/arcstats")).get("size", 0),
        other_engines=other_engines(unit.name),
        meminfo_is_shared=_meminfo_is_shared(),
        memory=count(evidence.pids),
        oom_kills=_oom_kills(unit.control_group),
    )


def _meminfo_is_shared() -> bool:
    """In a container, unless something is mounted over the file, as lxcfs does in LXC."""
    mounted = any(line.split()[4] == "/proc/meminfo" for line in text_of("/proc/self/mountinfo").splitlines())
    return Path("/run/systemd/container").exists() and not mounted


def _oom_kills(control_group: str | None) -> int | None:
    for mount in CGROUP2_MOUNTS if control_group else ():
        match = _OOM_KILLS.search(text_of(mount / str(control_group).lstrip("/") / "memory.events"))
        if match:
            return int(match.group(1))
    return None


def taken_since(facts: HostMemoryFacts) -> dict[str, int]:
    """Bytes that others are known to hold more than when the plan was made, by name; less than 0 where they gave back."""
    observation = facts.planned.observation
    then = {row["unit"]: int(row["memory_bytes"]) for row in observation.get("other_engines") or ()}
    names = sorted({*then, *facts.other_engines})
    taken = {name: facts.other_engines.get(name, 0) - then.get(name, 0) for name in names}
    arc = facts.zfs_arc_bytes - int((observation.get("memory") or {}).get("zfs_arc_bytes") or 0)
    return {name: size for name, size in {**taken, "the ZFS cache": arc}.items() if size}


def moved_by_others(facts: HostMemoryFacts, check: Check, tolerance_bytes: int) -> Check:
    """`check` found another MemAvailable than was planned, and the unit itself holds what was planned: whose is the difference?

    What others take is no fault of this server as long as the host keeps its reserve.
    """
    missing = check.expected - check.seen
    known = taken_since(facts)
    least = min(int(facts.planned.host.get("reserve_bytes") or 0), check.expected - tolerance_bytes)
    named = ", ".join(f"{name} {gib_text(size)}" for name, size in known.items()) or "none that is known"
    if check.seen < least:
        message = (
            f"{check.source} shows MemAvailable {gib_text(check.seen)}; at least {gib_text(least)} was expected, which the host keeps in reserve. This unit "
            f"holds what was planned, and others took {gib_text(missing)} since (of these: {named}): free memory on the host, or it kills what it needs."
        )
        return replace(check, message=message)
    fresh = facts.seconds_since_start is not None and facts.seconds_since_start < FRESH_SECONDS
    if fresh and abs(missing - sum(known.values())) > tolerance_bytes:
        return check
    what = "less available than planned, taken" if missing > 0 else "more available than planned, given back"
    why = f"{gib_text(abs(missing))} {what} by others since (of these: {named}); this unit holds what was planned, and the host keeps its reserve"
    return skipped(check.name, check.expected, check.seen, check.source, why)


MEMINFO, STATUS = "/proc/meminfo", "/proc/PID/status"


def check_host_memory(facts: HostMemoryFacts) -> tuple[Check, ...]:
    own = (_unit(facts), _pinned(facts))
    as_planned = all(check.outcome != FAILED for check in own)
    return (_available(facts, as_planned), *own, _swap(facts), _oom(facts))


def _available(facts: HostMemoryFacts, unit_as_planned: bool) -> Check:
    host = facts.planned.host
    tolerance = Tolerance(int(host["available_after_start_tolerance_bytes"]), "other processes come and go")
    advice = "See what else takes memory on this host (the ZFS cache, other services), or whether the host cache is pinned at all."
    check = near(
        "MemAvailable",
        int(host["available_after_start_bytes"]),
        facts.available_bytes,
        MEMINFO,
        tolerance,
        advice,
        gib_text,
    )
    if check.outcome != FAILED or facts.available_bytes is None:
        return check
    if facts.meminfo_is_shared:
        why = f"this container is shown the memory of the whole machine, which others move too: {gib_text(facts.available_bytes)}"
        return skipped(check.name, check.expected, check.seen, MEMINFO, why)
    return moved_by_others(facts, check, tolerance.size) if unit_as_planned else check


def _unit(facts: HostMemoryFacts) -> Check:
    """What the unit's processes hold; files that they have mapped can be dropped again and do not count."""
    name = "memory of the unit"
    seen = facts.memory.memory.get("anonymous", 0) + facts.memory.memory.get("shared", 0)
    most = int(planned_bytes(facts) * (1 + COUNTED_TWICE_SHARE)) + int(
        facts.planned.host["available_after_start_tolerance_bytes"]
    )
    if seen <= most:
        return Check(
            name,
            PASSED,
            most,
            seen,
            STATUS,
            f"{STATUS} shows {name} {gib_text(seen)}; at most {gib_text(most)} was expected.",
        )
    message = (
        f"{STATUS} shows {name} {gib_text(seen)}; at most {gib_text(most)} was expected. "
        "It takes more than was planned and may be killed for it; compare the journal's host pools with the plan's lines."
    )
    return Check(name, FAILED, most, seen, STATUS, message)


def planned_bytes(facts: HostMemoryFacts) -> int:
    return sum(int(line["size_bytes"]) for line in facts.planned.host["lines"])


def _pinned(facts: HostMemoryFacts) -> Check:
    """Host pools are resident from the first moment on: in the unit's processes, or where those do not show them, gone from MemAvailable."""
    name, planned = "pinned host cache", facts.planned
    if planned.on_cpu:
        return on_cpu(name, "/proc")
    expected = int(planned.host_cache.get("bytes_total") or 0)
    if not planned.host_cache.get("enabled"):
        return skipped(name, 0, None, "/proc", "the plan has no host cache")
    before = int(planned.host["available_after_start_bytes"]) + planned_bytes(facts)
    others = max(0, sum(taken_since(facts).values()))
    gone = before - (facts.available_bytes or before) - others
    seen, source = max((facts.memory.resident_bytes, STATUS), (gone, MEMINFO))
    if seen >= int(PINNED_SHARE * expected):
        return Check(
            name,
            PASSED,
            expected,
            seen,
            source,
            f"{source} shows {gb_text(seen)} taken by the server, {gb_text(expected)} of it is the planned host cache.",
        )
    message = (
        f"{source} shows {gb_text(seen)} taken by the server; a host cache of {gb_text(expected)} was expected to be pinned. "
        "It is smaller than planned, or not pinned and will be slow; read the journal's lines on host memory."
    )
    return Check(name, FAILED, expected, seen, source, message)


def _swap(facts: HostMemoryFacts) -> Check:
    advice = "A server that is swapped out stalls; free memory on the host, lower vm.swappiness, then restart the unit."
    return near("swap in use by the unit", 0, facts.memory.swap_bytes, STATUS, SWAP, advice, gib_text)


def _oom(facts: HostMemoryFacts) -> Check:
    name, source = "processes killed for want of memory", "memory.events"
    if facts.oom_kills is None:
        return skipped(name, 0, None, source, "this host's control groups do not count them")
    return same(
        name,
        0,
        facts.oom_kills,
        source,
        "A rank or helper was killed; raise the unit's memory limit or lower the host cache, then restart it.",
    )
