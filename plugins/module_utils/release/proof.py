# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether GPUs are free, judged from one reading, and from several in a row. Private to the collection, may change any time.

Free is a GPU that answers, whose driver wants nothing done with it, that no process blocks, and whose used memory without that of tolerated
processes is that of an idle one. Utilisation is no evidence: a card whose process was killed in the middle of a kernel may show 100 % for days.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..observe.nvml.usage import GpuUse, UseReading
from . import advice
from .advice import Visibility
from .gpu_status import RELEASED, Case, GpuStatus, findings, worst_status
from .occupancy import Occupancy


@dataclass(frozen=True)
class GpuProof:
    """One GPU. `memory_seen_bytes`: of processes that NVML lists; `memory_unseen_bytes`: the rest of what is used, None where it cannot be told."""

    use: GpuUse
    finding: GpuStatus
    memory_seen_bytes: int
    memory_unseen_bytes: int | None
    idle_memory_bytes: int

    @property
    def state(self) -> str:
        return self.finding.state

    def as_dict(self) -> dict[str, Any]:
        return {
            "index": self.use.index,
            "uuid": self.use.uuid,
            "pci_address": self.use.pci_address,
            "device": self.use.device,
            "state": self.state,
            "why": self.finding.why,
            "memory_used_bytes": self.use.memory_used_bytes,
            "memory_seen_bytes": self.memory_seen_bytes,
            "memory_unseen_bytes": self.memory_unseen_bytes,
            "idle_memory_bytes": self.idle_memory_bytes,
            "recovery_action": self.use.recovery_action,
        }


@dataclass(frozen=True)
class Proof:
    """All GPUs: the worst state, its reason and what to do about it (None when all are released)."""

    finding: GpuStatus
    gpus: tuple[GpuProof, ...] = ()

    @property
    def state(self) -> str:
        return self.finding.state

    @property
    def why(self) -> str | None:
        return self.finding.why

    @property
    def next_step(self) -> str | None:
        return self.finding.next_step


def prove_free(
    reading: UseReading,
    selected: Collection[int],
    occupancies: Sequence[Occupancy],
    visibility: Visibility,
    idle_memory_bytes: int,
    left_out: int = 0,
    broken_off: str | None = None,
) -> Proof:
    """`selected`: indices of GPUs; `left_out`: how many processes could not be looked into, any of which may hold a GPU; `broken_off`: why
    the search for holders ended before it had looked at all processes.
    """
    if reading.driver_error is not None:
        state = "needs_reboot" if reading.driver_hung else "unproven"
        return Proof(GpuStatus(state, reading.driver_error, advice.make_nvml_answer(reading, visibility)))
    known = {use.index: use for use in reading.gpus}
    gpus = tuple(
        _judge_gpu(known.get(index) or _gone(index), occupancies, visibility, idle_memory_bytes, left_out, broken_off)
        for index in sorted(selected)
    )
    return Proof(_of_all(gpus), gpus)


def _judge_gpu(
    use: GpuUse,
    occupancies: Sequence[Occupancy],
    visibility: Visibility,
    idle_memory_bytes: int,
    left_out: int,
    broken_off: str | None,
) -> GpuProof:
    limit = idle_limit(use, idle_memory_bytes)
    here = tuple(occupancy for occupancy in occupancies if occupancy.holds(use.index))
    sizes = list((use.processes or {}).values())
    seen = sum(size for size in sizes if size is not None)
    told = use.memory_used_bytes is not None and use.processes is not None and None not in sizes
    unseen = max((use.memory_used_bytes or 0) - seen, 0) if told else None
    found = findings(Case(use, here, visibility, limit, left_out, broken_off))
    return GpuProof(use, worst_status(found), seen, unseen, limit)


def idle_limit(use: GpuUse, idle_memory_bytes: int) -> int:
    """What an idle GPU may show as used: the given, or 1 % of the card.

    One per cent more where the driver does not tell its own part from the rest: it keeps 0.65 % of an RTX PRO 6000 for itself.
    """
    hundredth = (use.memory_total_bytes or 0) // 100
    return max(idle_memory_bytes, hundredth) + (hundredth if use.memory_reserved_bytes is None else 0)


def _gone(index: int) -> GpuUse:
    return GpuUse(
        index, "error", f"GPU {index} is not shown by NVML any more, and the others may have other numbers now."
    )


def _of_all(gpus: Sequence[GpuProof]) -> GpuStatus:
    if not gpus:
        return GpuStatus("unproven", "No GPU was looked at.", "Name at least one GPU in gpus, or none for all of them.")
    finding = worst_status([gpu.finding for gpu in gpus])
    alike = [f"GPU {gpu.use.index}" for gpu in gpus if gpu.state == finding.state and gpu.finding is not finding]
    if finding.state == RELEASED.state or not alike:
        return finding
    return GpuStatus(finding.state, f"{finding.why} In the same state: {', '.join(alike)}.", finding.next_step)


@dataclass(frozen=True)
class ConsecutiveReadings:
    """`wanted`: how many free readings in a row are the proof; `free`: how many there were up to now."""

    wanted: int
    free: int = 0

    def after(self, proof: Proof) -> ConsecutiveReadings:
        return replace(self, free=self.free + 1 if proof.state == RELEASED.state else 0)

    @property
    def proven(self) -> bool:
        return self.free >= self.wanted

    def conclude(self, last: Proof) -> Proof:
        """The last reading's proof when no more time is left."""
        if last.state != RELEASED.state or self.proven:
            return last
        why = f"The GPUs were found free in the last {self.free} readings when the time was up: {self.wanted} in a row were expected."
        return replace(
            last,
            finding=GpuStatus("unproven", why, "Raise deadline_seconds, or see what opens the GPUs again and again."),
        )
