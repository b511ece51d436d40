# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A claim: what one holder means for the release of GPUs. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..observe.holders.scan import Holder
from ..observe.nvml.usage import GpuUse
from .ownership import Judgement


@dataclass(frozen=True)
class Occupancy:
    """`blocks`: no GPU of `gpus` is free while the process lives. `tolerated`: it may stay, so its memory does not count; one that neither blocks
    nor is tolerated (a display, an MPS server) holds a GPU by its memory alone. `memory`: index of each GPU on which NVML lists it, to its bytes
    there (None: not told). `presumed`: only an open nvidia-uvm speaks for a context, which NVML, that lists others, does not: it blocks while more of the
    GPU is used than of an idle one. `survived_kill`: it was sent KILL and is still there. `why`: whose it is and what ends it, a sentence.
    """

    pid: int
    name: str
    gpus: frozenset[int]
    blocks: bool
    tolerated: bool = False
    memory: dict[int, int | None] = field(default_factory=dict)
    survived_kill: bool = False
    why: str = ""
    presumed: bool = False

    @property
    def text(self) -> str:
        return f"process {self.pid} ({self.name})"

    def holds(self, gpu: int) -> bool:
        return gpu in self.gpus or gpu in self.memory

    def keeps(self, gpu: int) -> bool:
        """Whether it is what keeps the GPU from being free, by itself or by its memory."""
        return (self.blocks and not self.presumed and self.holds(gpu)) or (gpu in self.memory and not self.tolerated)


def claim_of(holder: Holder, judgement: Judgement, gpus: Sequence[GpuUse], survived_kill: bool = False) -> Occupancy:
    """What `holder` means for `gpus`. CUDA opens more GPUs than it uses, so where NVML lists it, that and its mappings tell which."""
    devices = {gpu.device: gpu.index for gpu in gpus if gpu.device is not None}
    opened = {devices[name]: how for name, how in holder.devices.items() if name in devices}
    listed = set(holder.gpu_memory_bytes)
    if listed:
        held = listed | {index for index, how in opened.items() if "mapping" in how}
    else:
        held = set(opened) or {gpu.index for gpu in gpus}
    return Occupancy(
        holder.identity.pid,
        holder.name,
        frozenset(held),
        judgement.blocks,
        judgement.tolerated,
        dict(holder.gpu_memory_bytes),
        survived_kill,
        f"{judgement.why} The state released ends it." if judgement.owner == "ours" else judgement.why,
        judgement.blocks and judgement.owner == "not_ours" and _is_presumed(holder, opened.values(), gpus),
    )


def _is_presumed(holder: Holder, opened: Iterable[Sequence[str]], gpus: Sequence[GpuUse]) -> bool:
    """CUDA opens all GPUs before it makes a context on any: so does the launcher of an engine whose ranks have other GPUs. A context maps its GPU's
    node. Of one whose leader has exited NVML may tell nothing.
    """
    shown = holder.gpu_memory_bytes or any("mapping" in how for how in opened)
    return not shown and holder.state != "Z" and all(gpu.processes is not None for gpu in gpus)
