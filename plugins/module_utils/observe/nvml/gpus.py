# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NVML says, within a deadline whatever the driver does. Private to the collection, may change any time.

A driver call on a broken GPU may sleep for ever, and its process cannot be killed then. So the calls run in processes of their own:
first one for all GPUs; when it falls silent, it is left behind and each GPU not yet told of gets a process of its own, all at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from typing import Any, Optional, Protocol

from ..files import HostFiles, Unread
from .errors import LOST, NO_DEVICES, breaking_off, gpu_sentence, host_sentence, silence_sentence
from .session import NvmlReply, NvmlRequest, NvmlSession, hear_round

# "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build ..." and, closed, "... UNIX x86_64 Kernel Module  535.54.03 ..."
_MODULE = re.compile(r"^NVRM version: (?P<flavour>.*?Kernel Module(?: for \S+)?)\s+(?P<version>[\d.]+)", re.MULTILINE)

Matrix = list[list[Optional[str]]]


@dataclass(frozen=True)
class Gpu:
    """One GPU. `state` is ok, lost (fell off the bus, or wants a reset), timeout or error; then `error` says what happened."""

    index: int
    state: str = "ok"
    error: str | None = None
    minor: int | None = None
    name: str | None = None
    uuid: str | None = None
    serial: str | None = None
    pci_address: str | None = None
    memory_total_bytes: int | None = None
    memory_used_bytes: int | None = None
    memory_reserved_bytes: int | None = None
    memory_free_bytes: int | None = None
    bar1_total_bytes: int | None = None
    compute_capability: str | None = None
    ecc: dict[str, bool] | None = None
    mig: dict[str, bool] | None = None
    persistence: bool | None = None
    power: dict[str, float | None] | None = None
    pcie: dict[str, int | None] | None = None
    numa_node: int | None = None
    cpu_affinity: str | None = None
    nvlinks_active: int | None = None
    fabric: dict[str, str] | None = None


_GPU_FIELDS = {item.name for item in fields(Gpu)}


@dataclass(frozen=True)
class Driver:
    """`kernel_module_open`: None where no module is loaded or its flavour does not show."""

    version: str | None = None
    nvml_version: str | None = None
    cuda_version: str | None = None
    kernel_module_version: str | None = None
    kernel_module_open: bool | None = None
    error: str | None = None


@dataclass(frozen=True)
class Interconnect:
    """Square matrices over the GPUs in the order of their indices; None where nobody could be asked."""

    ancestor: Matrix
    p2p_read: Matrix
    p2p_write: Matrix


@dataclass(frozen=True)
class NvmlReading:
    driver: Driver
    gpus: tuple[Gpu, ...] = ()
    rows: dict[int, dict[str, dict[str, str | None]]] = field(default_factory=dict)
    unread: tuple[Unread, ...] = ()

    @property
    def interconnect(self) -> Interconnect:
        return Interconnect(*(self._matrix(kind) for kind in ("ancestor", "p2p_read", "p2p_write")))

    def _matrix(self, kind: str) -> Matrix:
        indices = [gpu.index for gpu in self.gpus]
        return [[self.rows.get(row, {}).get(kind, {}).get(str(column)) for column in indices] for row in indices]


class NvmlReader(Protocol):
    """The only door to NVML; in a unit test a fake that returns a list of GPUs."""

    def read(self) -> NvmlReading: ...


@dataclass(frozen=True)
class ChildNvmlReader:
    """Reads NVML in child processes. `timeout_seconds`: how long one answer may take; the whole takes at most six times as long."""

    files: HostFiles
    library: str | None
    timeout_seconds: float

    def read(self) -> NvmlReading:
        kernel = read_kernel_module(self.files)
        poll = hear_round(self._start, NvmlRequest(self.library), self.timeout_seconds)
        heard = poll.first
        if heard.driver is None:
            error = host_sentence(heard, kernel.kernel_module_version, self.library)
            return NvmlReading(replace(kernel, nvml_version=heard.nvml_version, error=error))
        driver = replace(kernel, **heard.driver, error=None if heard.count else NO_DEVICES)
        gpus = {index: _gpu(facts) for index, facts in poll.facts.items()}
        gpus.update({index: _unheard(index, broken) for index, broken in poll.broken.items()})
        unread = poll.unread
        rows = heard.rows if heard.done else self._rows(heard, gpus, unread)
        return NvmlReading(driver, tuple(gpus[index] for index in sorted(gpus)), rows, tuple(unread))

    def _start(self, request: NvmlRequest) -> NvmlSession:
        return NvmlSession(request, self.timeout_seconds)

    def _rows(self, heard: NvmlReply, gpus: dict[int, Gpu], unread: list[Unread]) -> dict[int, dict[str, Any]]:
        """The interconnect of the GPUs that answer, when the first conversation broke off before it was told in full."""
        if len(heard.gpus) < heard.count:
            healthy = [index for index in sorted(gpus) if gpus[index].state == "ok"]
            heard = self._start(NvmlRequest(self.library, only=healthy, gpus=False)).hear()
        if not heard.done:
            unread.append(Unread("interconnect", breaking_off(heard)))
        return heard.rows


def read_kernel_module(files: HostFiles) -> Driver:
    """What the kernel says about the loaded module: the part of the driver's facts that needs no library."""
    found = _MODULE.search(files.text("/proc/driver/nvidia/version") or "")
    if found is None:
        return Driver(kernel_module_version=files.text("/sys/module/nvidia/version"))
    return Driver(kernel_module_version=found["version"], kernel_module_open="Open" in found["flavour"])


def _gpu(facts: dict[str, Any]) -> Gpu:
    known = {name: value for name, value in facts.items() if name in _GPU_FIELDS}
    failed = facts.get("failed")
    if failed is None:
        return Gpu(**known)
    return Gpu(**known, state="lost" if failed in LOST else "error", error=gpu_sentence(facts["index"], failed))


def _unheard(index: int, heard: NvmlReply) -> Gpu:
    return Gpu(index, "error" if heard.silent_seconds is None else "timeout", silence_sentence(index, heard))
