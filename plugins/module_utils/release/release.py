# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The release from end to end: look, end what is ours, look until it is proven. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from ..core.errors import ReleaseError
from ..observe.files import Unread
from ..observe.identity import Identity
from ..observe.memory import Segment
from .kernel_faults import KernelEvidence
from .proof import ConsecutiveReadings, GpuProof, Proof
from .report import Leftover, ReleaseReport, obstacles
from .request import ReleaseRequest
from .snapshot import HeldBy, Snapshot
from .termination import Outcome


class ReleaseHost(Protocol):
    """The door to the machine; in a unit test a script of looks."""

    def snapshot(self, survivors: Collection[int] = ()) -> Snapshot: ...

    def evidence(self, snapshot: Snapshot) -> KernelEvidence: ...

    def end(self, identities: Iterable[Identity], grace_seconds: float, deadline: float) -> dict[int, Outcome]: ...

    def remove(self, segment: Segment) -> bool: ...

    def now(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


def list_holders(host: ReleaseHost, request: ReleaseRequest) -> ReleaseReport:
    """One look; nothing is touched."""
    snapshot = host.snapshot()
    evidence = host.evidence(snapshot)
    found = tuple(Leftover(segment) for segment in _leftovers(snapshot, request))
    return ReleaseReport(
        snapshot.proof,
        obstacles(snapshot, evidence),
        tuple(snapshot.held.values()),
        evidence,
        _unread(snapshot, evidence),
        found,
    )


def release(host: ReleaseHost, request: ReleaseRequest) -> ReleaseReport:
    """Ends what is ours and waits for the proof, at most `deadline_seconds`. A hardware fault in the kernel log ends it before anything is touched."""
    deadline = host.now() + request.deadline_seconds
    first = host.snapshot()
    evidence = host.evidence(first)
    if evidence.hardware:
        held = tuple(first.held.values())
        return ReleaseReport(
            first.proof, obstacles(first, evidence), held, evidence, _unread(first, evidence), acted=True
        )
    if first.ours and host.now() >= deadline:
        raise ReleaseError(
            f"Looking for holders took longer than deadline_seconds, {request.deadline_seconds:g}. Nothing was signalled; raise it."
        )
    outcomes = host.end((held.holder.identity for held in first.ours), request.grace_seconds, deadline)
    last, proof = _prove(host, request, deadline, outcomes)
    removed = tuple(Leftover(segment, host.remove(segment)) for segment in _leftovers(last, request))
    return ReleaseReport(
        proof=proof,
        obstacles=obstacles(last, evidence),
        held=(*first.held.values(), *_later(first, last)),
        evidence=evidence,
        unread=_unread(last, evidence),
        leftovers=removed,
        outcomes=outcomes,
        acted=True,
    )


def _prove(
    host: ReleaseHost, request: ReleaseRequest, deadline: float, outcomes: dict[int, Outcome]
) -> tuple[Snapshot, Proof]:
    survivors = [pid for pid, outcome in outcomes.items() if outcome.outcome == "survived_kill"]
    window = ConsecutiveReadings(request.polls)
    while True:
        snapshot = host.snapshot(survivors)
        proof = snapshot.proof
        window = window.after(proof)
        if window.proven or _will_not_change(snapshot) or host.now() + request.poll_seconds > deadline:
            return snapshot, window.conclude(proof)
        host.sleep(request.poll_seconds)


def _will_not_change(snapshot: Snapshot) -> bool:
    """Memory is given back late, and by processes that are gone NVML may list them still; one that is seen and not to be ended, and a card that wants
    a reset, stay.
    """
    waiting = [gpu for gpu in snapshot.proof.gpus if gpu.state != "released"]
    return bool(waiting or not snapshot.proof.gpus) and all(_stays(gpu, snapshot) for gpu in waiting)


def _stays(gpu: GpuProof, snapshot: Snapshot) -> bool:
    if gpu.state == "needs_reboot" or not gpu.use.in_order:
        return True
    return gpu.state == "held" and any(held.occupancy.keeps(gpu.use.index) for held in snapshot.held.values())


def _later(first: Snapshot, last: Snapshot) -> tuple[HeldBy, ...]:
    """Who was not there at first. What is ours among them was started again by something."""
    known = {held.holder.identity for held in first.held.values()}
    return tuple(held for held in last.held.values() if held.holder.identity not in known)


def _leftovers(snapshot: Snapshot, request: ReleaseRequest) -> list[Segment]:
    """Shared memory of the service's user that nobody has any more; none of root's, who is everybody's."""
    if not request.leftovers or not request.uid or request.uid < 0:
        return []
    return [item for item in snapshot.scan.segments if item.uid == request.uid and not item.referenced]


def _unread(snapshot: Snapshot, evidence: KernelEvidence) -> tuple[Unread, ...]:
    log = (Unread("kernel log", evidence.why_not),) if evidence.why_not else ()
    return (*snapshot.reading.unread, *snapshot.scan.unread, *log)
