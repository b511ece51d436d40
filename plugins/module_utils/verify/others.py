# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory of the host that others than the verified unit took or gave back. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import replace

from ..core.units import gib_text
from .evidence import Evidence
from .verdict import Check, skipped

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
