# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NVML says of the use of each GPU, within a deadline. Private to the collection, may change any time.

An answer means that the driver opened the GPU, which it does not where the card is unusable although its memory is free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from ...core.errors import ObservationError
from ..files import HostFiles, Unread
from ..pci import pci_address, read_pci_gpus
from .errors import LOST, NO_DEVICES, gpu_sentence, host_sentence, silence_sentence
from .gpus import read_kernel_module
from .session import NvmlReply, NvmlRequest, NvmlSession, hear_round


@dataclass(frozen=True)
class GpuUse:
    """Who uses one GPU. `state` is ok, lost (`refused` tells whether for good or until a reset), timeout or error; then `error` says what happened.

    `memory_used_bytes` is without the driver's own part, `memory_reserved_bytes`; where that is None it is with it. `processes`: pid in our pid
    namespace to bytes (None: not told); None where the driver keeps no list. `recovery_action`: what the driver wants done, in the words of
    gpu_release (a number where there is no word for it), None where it does not say. `refused`: NVML's number when it broke off.
    """

    index: int
    state: str = "ok"
    error: str | None = None
    refused: int | None = None
    minor: int | None = None
    uuid: str | None = None
    pci_address: str | None = None
    memory_total_bytes: int | None = None
    memory_used_bytes: int | None = None
    memory_reserved_bytes: int | None = None
    processes: dict[int, int | None] | None = None
    recovery_action: str | None = None

    @property
    def device(self) -> str | None:
        """Its node under /dev."""
        return None if self.minor is None else f"nvidia{self.minor}"

    @property
    def wants_recovery(self) -> bool:
        return self.recovery_action not in (None, "none")

    @property
    def in_order(self) -> bool:
        """It answers, and the driver wants nothing done with it."""
        return self.state == "ok" and not self.wants_recovery


@dataclass(frozen=True)
class UseReading:
    """`driver_error`: why nothing is known of any GPU; then `driver_hung` tells that a call did not return, `refused` is NVML's number, and `absent`
    that neither a card nor the driver shows.
    """

    driver_error: str | None = None
    driver_hung: bool = False
    refused: int | None = None
    absent: bool = False
    gpus: tuple[GpuUse, ...] = ()
    unread: tuple[Unread, ...] = ()


NO_CARD = "Neither a card of NVIDIA nor its driver shows on this machine, so nothing can hold a GPU."

_FACTS = {item.name for item in fields(GpuUse)}


def read_use(files: HostFiles, library: str | None, timeout_seconds: float) -> UseReading:
    """`timeout_seconds`: how long one answer may take; the whole takes at most four times as long."""
    poll = hear_round(
        lambda request: NvmlSession(request, timeout_seconds),
        NvmlRequest(library, rows=False, use=True),
        timeout_seconds,
    )
    first = poll.first
    module = read_kernel_module(files).kernel_module_version
    if not first.count and first.silent_seconds is None and module is None and not read_pci_gpus(files):
        return UseReading(NO_CARD, absent=True)
    if first.driver is None:
        sentence = host_sentence(first, module, library)
        return UseReading(sentence, first.silent_seconds is not None, first.refused)
    gpus = [_told(index, facts) for index, facts in poll.facts.items()]
    gpus += [_unheard(index, heard) for index, heard in poll.broken.items()]
    return UseReading(
        driver_error=None if first.count else NO_DEVICES,
        gpus=tuple(sorted(gpus, key=lambda gpu: gpu.index)),
        unread=tuple(poll.unread),
    )


def _told(index: int, facts: dict[str, Any]) -> GpuUse:
    known = {name: value for name, value in facts.items() if name in _FACTS}
    if known.get("processes") is not None:
        known["processes"] = dict(known["processes"])  # JSON has no numbers for keys, so pairs travel
    refused = facts.get("failed")
    if refused is None:
        return GpuUse(**known)
    return GpuUse(
        **known, state="lost" if refused in LOST else "error", error=gpu_sentence(index, refused), refused=refused
    )


def _unheard(index: int, heard: NvmlReply) -> GpuUse:
    return GpuUse(index, "error" if heard.silent_seconds is None else "timeout", silence_sentence(index, heard))


def select_gpus(gpus: Sequence[GpuUse], wanted: Sequence[str]) -> tuple[int, ...]:
    """Indices of the wanted, in ascending order; of all when nothing is named. A name is an index, a UUID or a beginning of one, or a PCI address."""
    if not wanted:
        return tuple(gpu.index for gpu in gpus)
    return tuple(sorted({_selected(gpus, name.strip()) for name in wanted}))


def _selected(gpus: Sequence[GpuUse], name: str) -> int:
    named = [gpu.index for gpu in gpus if _is_named(gpu, name)]
    if len(named) == 1:
        return named[0]
    there = ", ".join(_names(gpu) for gpu in gpus) or "none"
    if named:
        raise ObservationError(
            f"{name!r} in gpus is the beginning of {len(named)} UUIDs: one was expected. There are these GPUs: {there}."
        )
    raise ObservationError(
        f"There is no GPU {name!r}: an index, a UUID or its beginning, or a PCI address of these was expected in gpus: {there}."
    )


def _is_named(gpu: GpuUse, name: str) -> bool:
    if name.isdecimal():
        return gpu.index == int(name)
    if name.upper().startswith("GPU-"):
        return gpu.uuid is not None and gpu.uuid.upper().startswith(name.upper())
    return gpu.pci_address == pci_address(name)


def _names(gpu: GpuUse) -> str:
    return f"{gpu.index} ({', '.join(filter(None, (gpu.uuid, gpu.pci_address))) or gpu.state})"
