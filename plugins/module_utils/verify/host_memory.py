# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Level `host_memory`: what the server and others took of the host, against the plan. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import replace

from ..core.units import gb_text, gib_text
from .evidence import Evidence
from .planned import COUNTED_TWICE_SHARE, PINNED_SHARE, SWAP, Tolerance
from .verdict import FAILED, PASSED, Check, near, on_cpu, same, skipped

FRESH_SECONDS = 600
"""So long after a start the host is as it was planned: what is missing then, and nobody known took, the start took itself."""


def taken_since(evidence: Evidence) -> dict[str, int]:
    """Bytes that others are known to hold more than when the plan was made, by name; less than 0 where they gave back."""
    observation = evidence.planned.observation
    then = {row["unit"]: int(row["memory_bytes"]) for row in observation.get("other_engines") or ()}
    names = sorted({*then, *evidence.other_engines})
    taken = {name: evidence.other_engines.get(name, 0) - then.get(name, 0) for name in names}
    arc = evidence.zfs_arc_bytes - int((observation.get("memory") or {}).get("zfs_arc_bytes") or 0)
    return {name: size for name, size in {**taken, "the ZFS cache": arc}.items() if size}


def moved_by_others(evidence: Evidence, check: Check, tolerance_bytes: int) -> Check:
    """`check` found another MemAvailable than was planned, and the unit itself holds what was planned: whose is the difference?

    What others take is no fault of this server as long as the host keeps its reserve.
    """
    missing = check.expected - check.seen
    known = taken_since(evidence)
    least = min(int(evidence.planned.host.get("reserve_bytes") or 0), check.expected - tolerance_bytes)
    named = ", ".join(f"{name} {gib_text(size)}" for name, size in known.items()) or "none that is known"
    if check.seen < least:
        message = (
            f"{check.source} shows MemAvailable {gib_text(check.seen)}; at least {gib_text(least)} was expected, which the host keeps in reserve. This unit "
            f"holds what was planned, and others took {gib_text(missing)} since (of these: {named}): free memory on the host, or it kills what it needs."
        )
        return replace(check, message=message)
    fresh = evidence.seconds_since_start is not None and evidence.seconds_since_start < FRESH_SECONDS
    if fresh and abs(missing - sum(known.values())) > tolerance_bytes:
        return check
    what = "less available than planned, taken" if missing > 0 else "more available than planned, given back"
    why = f"{gib_text(abs(missing))} {what} by others since (of these: {named}); this unit holds what was planned, and the host keeps its reserve"
    return skipped(check.name, check.expected, check.seen, check.source, why)


MEMINFO, STATUS = "/proc/meminfo", "/proc/PID/status"


def check_host_memory(evidence: Evidence) -> tuple[Check, ...]:
    own = (_unit(evidence), _pinned(evidence))
    as_planned = all(check.outcome != FAILED for check in own)
    return (_available(evidence, as_planned), *own, _swap(evidence), _oom(evidence))


def _available(evidence: Evidence, unit_as_planned: bool) -> Check:
    host = evidence.planned.host
    tolerance = Tolerance(int(host["available_after_start_tolerance_bytes"]), "other processes come and go")
    advice = "See what else takes memory on this host (the ZFS cache, other services), or whether the host cache is pinned at all."
    check = near(
        "MemAvailable",
        int(host["available_after_start_bytes"]),
        evidence.available_bytes,
        MEMINFO,
        tolerance,
        advice,
        gib_text,
    )
    if check.outcome != FAILED or evidence.available_bytes is None:
        return check
    if evidence.meminfo_is_shared:
        why = f"this container is shown the memory of the whole machine, which others move too: {gib_text(evidence.available_bytes)}"
        return skipped(check.name, check.expected, check.seen, MEMINFO, why)
    return moved_by_others(evidence, check, tolerance.size) if unit_as_planned else check


def _unit(evidence: Evidence) -> Check:
    """What the unit's processes hold; files that they have mapped can be dropped again and do not count."""
    name = "memory of the unit"
    seen = evidence.memory.memory.get("anonymous", 0) + evidence.memory.memory.get("shared", 0)
    most = int(planned_bytes(evidence) * (1 + COUNTED_TWICE_SHARE)) + int(
        evidence.planned.host["available_after_start_tolerance_bytes"]
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


def planned_bytes(evidence: Evidence) -> int:
    return sum(int(line["size_bytes"]) for line in evidence.planned.host["lines"])


def _pinned(evidence: Evidence) -> Check:
    """Host pools are resident from the first moment on: in the unit's processes, or where those do not show them, gone from MemAvailable."""
    name, planned = "pinned host cache", evidence.planned
    if planned.on_cpu:
        return on_cpu(name, "/proc")
    expected = int(planned.host_cache.get("bytes_total") or 0)
    if not planned.host_cache.get("enabled"):
        return skipped(name, 0, None, "/proc", "the plan has no host cache")
    before = int(planned.host["available_after_start_bytes"]) + planned_bytes(evidence)
    others = max(0, sum(taken_since(evidence).values()))
    gone = before - (evidence.available_bytes or before) - others
    seen, source = max((evidence.memory.resident_bytes, STATUS), (gone, MEMINFO))
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


def _swap(evidence: Evidence) -> Check:
    advice = "A server that is swapped out stalls; free memory on the host, lower vm.swappiness, then restart the unit."
    return near("swap in use by the unit", 0, evidence.memory.swap_bytes, STATUS, SWAP, advice, gib_text)


def _oom(evidence: Evidence) -> Check:
    name, source = "processes killed for want of memory", "memory.events"
    if evidence.oom_kills is None:
        return skipped(name, 0, None, source, "this host's control groups do not count them")
    return same(
        name,
        0,
        evidence.oom_kills,
        source,
        "A rank or helper was killed; raise the unit's memory limit or lower the host cache, then restart it.",
    )
