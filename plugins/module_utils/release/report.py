# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is told of a release: `release` of gpu_release. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..core.text import iso
from ..deploy.installed import user_name
from ..observe.files import Unread, legible
from ..observe.memory import Segment
from .gpu_status import GpuStatus
from .kernel_faults import KernelEvidence
from .proof import Proof
from .snapshot import HeldBy, Snapshot
from .termination import Outcome

SCHEMA = 1


@dataclass(frozen=True)
class Obstacle:
    """What stands in the way beside what is ours and the running unit; `state`: that of a GPU, or hardware_fault."""

    state: str
    message: str


@dataclass(frozen=True)
class Leftover:
    segment: Segment
    removed: bool = False


@dataclass(frozen=True)
class ReleaseReport:
    """`proof`: of the last look. `held`: who was listed first and what appeared later. `outcomes`: by pid; empty when nothing was to be ended."""

    proof: Proof
    obstacles: tuple[Obstacle, ...]
    held: tuple[HeldBy, ...]
    evidence: KernelEvidence
    unread: tuple[Unread, ...]
    leftovers: tuple[Leftover, ...] = ()
    outcomes: Mapping[int, Outcome] = field(default_factory=dict)
    acted: bool = False

    @property
    def finding(self) -> GpuStatus:
        """A hardware fault goes before all: what was not to be started on is not to be called free."""
        if self.evidence.hardware:
            return GpuStatus(self.proof.state, self.evidence.why, self.evidence.next_step)
        return self.proof.finding

    @property
    def succeeded(self) -> bool:
        return self.proof.state == "released" and not self.evidence.hardware

    @property
    def selected(self) -> tuple[int, ...]:
        return tuple(held.pid for held in self.held if held.ours and self._outcome(held) != "respawned")

    @property
    def changes(self) -> bool:
        """Whether anything was ended or removed; of a look alone, whether it would be."""
        if self.acted:
            return any(outcome.signals for outcome in self.outcomes.values()) or any(
                item.removed for item in self.leftovers
            )
        return bool(self.selected or self.leftovers)

    def as_dict(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "state": self.proof.state,
            "why": self.finding.why,
            "next_step": self.finding.next_step,
            "obstacles": [asdict(obstacle) for obstacle in self.obstacles],
            "selected": list(self.selected),
            "gpus": [gpu.as_dict() for gpu in self.proof.gpus],
            "holders": [self._holder(held) for held in self.held],
            "leftovers": [
                {"path": legible(item.segment.path), "size_bytes": item.segment.size_bytes, "removed": item.removed}
                for item in self.leftovers
            ],
            "kernel": self.evidence.as_dict(),
            "unread": [asdict(item) for item in self.unread],
        }

    def _outcome(self, held: HeldBy) -> str | None:
        """None of what was only listed."""
        if not self.acted:
            return None
        outcome = self.outcomes.get(held.pid)
        if outcome is not None:
            return outcome.outcome
        return "respawned" if held.ours else held.judgement.owner

    def _holder(self, held: HeldBy) -> dict[str, Any]:
        holder, identity = held.holder, held.holder.identity
        outcome = self.outcomes.get(held.pid)
        return {
            "pid": identity.pid,
            "namespace_pids": list(holder.namespace_pids),
            "name": holder.name,
            "executable": identity.executable,
            "user": user_name(identity.uid),
            "uid": identity.uid,
            "start_ticks": identity.start_ticks,
            "started": iso(holder.started),
            "state": outcome.state if outcome is not None and outcome.state else holder.state,
            "live_threads": holder.live_threads,
            "parent_pid": holder.parent_pid,
            "unit": holder.unit,
            "control_group": identity.control_group,
            "container": holder.container,
            "devices": {name: list(how) for name, how in holder.devices.items()},
            "gpus": sorted(held.occupancy.gpus),
            "gpu_memory_bytes": {str(index): size for index, size in holder.gpu_memory_bytes.items()},
            "owner": held.judgement.owner,
            "why": held.judgement.why,
            "blocks": held.judgement.blocks and not held.occupancy.presumed,
            "outcome": self._outcome(held),
            "signals": list(outcome.signals) if outcome is not None else [],
            "wait_channel": outcome.wait_channel if outcome is not None else None,
        }


def obstacles(snapshot: Snapshot, evidence: KernelEvidence) -> tuple[Obstacle, ...]:
    """Judged as if the running unit were stopped and what is ours were gone, so that it can be told before anything is."""
    proof = snapshot.proof_without([pid for pid, held in snapshot.held.items() if held.leaves])
    others = (gpu.finding for gpu in proof.gpus if gpu.state != proof.state)
    told = {f"{finding.why} {finding.next_step}": finding.state for finding in (proof.finding, *others) if finding.why}
    faults = evidence.sentence()
    first = (Obstacle("hardware_fault", faults),) if faults else ()
    return (*first, *(Obstacle(state, message) for message, state in told.items()))
