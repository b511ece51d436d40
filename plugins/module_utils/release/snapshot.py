# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One look at the GPUs and their holders: whose each is, and whether the GPUs are free. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..observe.holders.scan import Holder, Holders
from ..observe.nvml.usage import GpuUse, UseReading, select_gpus
from .advice import Visibility
from .occupancy import Occupancy, claim_of
from .ownership import Gpus, Judgement, Selection, concerns, owner_of
from .proof import Proof, prove_free


@dataclass(frozen=True)
class HeldBy:
    """A holder and what was found of it."""

    holder: Holder
    judgement: Judgement
    occupancy: Occupancy

    @property
    def pid(self) -> int:
        return self.holder.identity.pid

    @property
    def ours(self) -> bool:
        return self.judgement.owner == "ours"

    @property
    def leaves(self) -> bool:
        """Whether stopping the unit and ending what is ours takes it away."""
        return self.ours or self.judgement.of_running_unit


@dataclass(frozen=True)
class Snapshot:
    """`selected`: indices of the GPUs asked about. `held`: those who have one of them, by pid."""

    reading: UseReading
    scan: Holders
    visibility: Visibility
    selected: tuple[int, ...] = ()
    held: Mapping[int, HeldBy] = field(default_factory=dict)
    idle_memory_bytes: int = 0

    @property
    def ours(self) -> tuple[HeldBy, ...]:
        return tuple(held for held in self.held.values() if held.ours)

    @property
    def may_empty(self) -> bool:
        """Whether time alone may free them: memory is given back late, and what is ours may be on its way out; others stay, and so does a broken card."""
        if any(held.occupancy.blocks and not held.occupancy.presumed and not held.ours for held in self.held.values()):
            return False
        return all(gpu.use.in_order for gpu in self.proof.gpus)

    @cached_property
    def proof(self) -> Proof:
        """Asked for many times, of what does not change."""
        return self._prove(self.reading, [held.occupancy for held in self.held.values()])

    def proof_without(self, pids: Collection[int]) -> Proof:
        """How the GPUs would stand once these processes were gone."""
        leaving = [held.occupancy for pid, held in self.held.items() if pid in pids]
        gpus = tuple(
            _without(gpu, [occupancy for occupancy in leaving if occupancy.holds(gpu.index)])
            for gpu in self.reading.gpus
        )
        staying = [held.occupancy for pid, held in self.held.items() if pid not in pids]
        return self._prove(replace(self.reading, gpus=gpus), staying)

    def _prove(self, reading: UseReading, occupancies: list[Occupancy]) -> Proof:
        return prove_free(
            reading,
            self.selected,
            occupancies,
            self.visibility,
            self.idle_memory_bytes,
            len(self.scan.unread),
            self.scan.broken_off,
        )


def take_snapshot(
    reading: UseReading,
    scan: Holders,
    visibility: Visibility,
    selection: Selection,
    gpus: Collection[str],
    idle_memory_bytes: int,
    survivors: Collection[int] = (),
) -> Snapshot:
    """`gpus`: names of those asked about, all when none is named; `survivors`: pids that KILL did not end.

    Raises ObservationError for a GPU that is not there.
    """
    known = reading.driver_error is None
    selected = select_gpus(reading.gpus, tuple(gpus)) if known else ()
    asked = Gpus(
        frozenset(gpu.device for gpu in reading.gpus if gpu.index in selected and gpu.device), frozenset(selected)
    )
    held = {}
    for seen in scan.holders:
        holder = replace(seen, gpu_memory_bytes=_memory_of(seen.identity.pid, reading.gpus))
        # Without NVML no node can be told from another: whoever has one is listed.
        if known and not concerns(holder, asked):
            continue
        judgement = owner_of(holder, selection, asked)
        occupancy = claim_of(holder, judgement, reading.gpus, holder.identity.pid in survivors)
        held[holder.identity.pid] = HeldBy(holder, judgement, occupancy)
    return Snapshot(reading, scan, visibility, selected, held, idle_memory_bytes)


def _memory_of(pid: int, gpus: Collection[GpuUse]) -> dict[int, int | None]:
    return {gpu.index: gpu.processes[pid] for gpu in gpus if gpu.processes and pid in gpu.processes}


def _without(gpu: GpuUse, leaving: list[Occupancy]) -> GpuUse:
    """Where nobody tells what the leaving use, they may use all of it: nothing stands against the GPU being free without them."""
    if not leaving or gpu.memory_used_bytes is None:
        return gpu
    listed = gpu.processes or {}
    sizes = [listed[occupancy.pid] for occupancy in leaving if occupancy.pid in listed] or [None]
    used = 0 if None in sizes else max(0, gpu.memory_used_bytes - sum(size for size in sizes if size is not None))
    pids = {occupancy.pid for occupancy in leaving}
    staying = {pid: size for pid, size in listed.items() if pid not in pids}
    return replace(gpu, memory_used_bytes=used, processes=None if gpu.processes is None else staying)
