# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that talks to NVML, run as a process of its own because a driver call may never return. Private to the collection.

It prints one JSON object a line: `{"asking": CALL}` before each call, then what it learnt: `driver` once, `gpu` for each GPU (its facts, or only who
uses it), `row` of the interconnect matrices for each GPU, `done`. It never changes anything. Holds for nvidia-ml-py 13.615.71.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Iterator
from typing import Any, Callable

from ..pci import pci_address
from .answers import bits, fabric, pair, processes, ranges, recovery_action, row, text

_CPU_WORDS = 64  # 64-bit words of a CPU mask: 4096 CPUs
_NODE_WORDS = 4
_NODE_SCOPE = 0
_ATTEMPTS = 4


class Lost(Exception):
    """The GPU answers nothing any more."""


class Child:
    """One conversation with NVML. `nvml` is the module of nvidia-ml-py, `tell` prints a message."""

    def __init__(self, nvml: Any, tell: Callable[[dict[str, Any]], None]) -> None:
        self.nvml = nvml
        self.tell = tell
        self.silent: list[dict[str, str]] = []

    def ask(self, call: str, *arguments: Any) -> Any:
        """The call's answer, text as str; None when this GPU or library does not know the question, or refuses it."""
        self.tell({"asking": call})
        nvml = self.nvml
        try:
            answer = self._whole(getattr(nvml, call), arguments)
        except nvml.NVMLError as error:
            if error.value in (nvml.NVML_ERROR_GPU_IS_LOST, nvml.NVML_ERROR_RESET_REQUIRED):
                raise Lost(error.value) from error
            if error.value not in (nvml.NVML_ERROR_NOT_SUPPORTED, nvml.NVML_ERROR_FUNCTION_NOT_FOUND):
                self.silent.append({"what": call, "why": str(error)})
            return None
        return answer.decode() if isinstance(answer, bytes) else answer

    def _whole(self, call: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """The answer; again where a list has outgrown the room made for it, as when processes start in between."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return call(*arguments)
            except self.nvml.NVMLError as error:
                if error.value != self.nvml.NVML_ERROR_INSUFFICIENT_SIZE or attempt == _ATTEMPTS:
                    raise
        return None

    def driver(self) -> dict[str, Any]:
        cuda = self.ask("nvmlSystemGetCudaDriverVersion_v2")
        return {
            "version": self.ask("nvmlSystemGetDriverVersion"),
            "nvml_version": self.ask("nvmlSystemGetNVMLVersion"),
            "cuda_version": None if cuda is None else f"{cuda // 1000}.{cuda % 1000 // 10}",
        }

    def handle(self, index: int) -> Any:
        """Opens the GPU: the driver initialises it here unless it is kept awake, which takes seconds."""
        self.tell({"asking": "nvmlDeviceGetHandleByIndex"})
        return self.nvml.nvmlDeviceGetHandleByIndex(index)

    def gpu(self, index: int, use: bool = False) -> dict[str, Any]:
        """All about one GPU, or its `use` alone; `failed` is NVML's number when it broke off, what was learnt before stays."""
        about: tuple[Callable[[Any], Iterator[tuple[str, Any]]], ...] = (self._use, self._memory)
        if not use:
            about = (self._identity, self._memory, self._bar1, self._modes, self._links, self._places)
        facts: dict[str, Any] = {"index": index}
        self.silent = []
        try:
            handle = self.handle(index)
            for facet in (self._address, *about):
                facts.update(facet(handle))
        except Lost as lost:
            facts["failed"] = lost.args[0]
        except self.nvml.NVMLError as error:
            facts["failed"] = error.value
        facts["silent"] = self.silent
        return facts

    def ask_pair(self, call: str, *arguments: Any) -> Any:
        """As `ask`, of two GPUs: that one of them is lost says nothing of the one whose turn it is."""
        try:
            return self.ask(call, *arguments)
        except Lost:
            return None

    def _address(self, handle: Any) -> Iterator[tuple[str, Any]]:
        yield "uuid", self.ask("nvmlDeviceGetUUID", handle)
        pci = self.ask("nvmlDeviceGetPciInfo_v3", handle)
        yield "pci_address", None if pci is None else pci_address(text(pci.busId))
        yield "minor", self.ask("nvmlDeviceGetMinorNumber", handle)

    def _use(self, handle: Any) -> Iterator[tuple[str, Any]]:
        yield "recovery_action", recovery_action(self.ask, handle)
        yield "processes", processes(self.ask, handle)

    def _identity(self, handle: Any) -> Iterator[tuple[str, Any]]:
        yield "name", self.ask("nvmlDeviceGetName", handle)
        yield "serial", self.ask("nvmlDeviceGetSerial", handle)
        capability = self.ask("nvmlDeviceGetCudaComputeCapability", handle)
        yield "compute_capability", None if capability is None else "{}.{}".format(*capability)

    def _memory(self, handle: Any) -> Iterator[tuple[str, Any]]:
        # Version 2 tells the driver's own part from what processes use; version 1 adds them up.
        memory = self.ask("nvmlDeviceGetMemoryInfo", handle, self.nvml.nvmlMemory_v2)
        reserved = None if memory is None else memory.reserved
        memory = memory or self.ask("nvmlDeviceGetMemoryInfo", handle)
        if memory is not None:
            yield "memory_total_bytes", memory.total
            yield "memory_used_bytes", memory.used
            yield "memory_free_bytes", memory.free
            yield "memory_reserved_bytes", reserved

    def _bar1(self, handle: Any) -> Iterator[tuple[str, Any]]:
        bar1 = self.ask("nvmlDeviceGetBAR1MemoryInfo", handle)
        yield "bar1_total_bytes", None if bar1 is None else bar1.bar1Total

    def _modes(self, handle: Any) -> Iterator[tuple[str, Any]]:
        yield "ecc", pair(self.ask("nvmlDeviceGetEccMode", handle))
        yield "mig", pair(self.ask("nvmlDeviceGetMigMode", handle))
        persistence = self.ask("nvmlDeviceGetPersistenceMode", handle)
        yield "persistence", None if persistence is None else bool(persistence)
        low, high = self.ask("nvmlDeviceGetPowerManagementLimitConstraints", handle) or (None, None)
        milliwatts = {
            "limit_watts": self.ask("nvmlDeviceGetPowerManagementLimit", handle),
            "default_watts": self.ask("nvmlDeviceGetPowerManagementDefaultLimit", handle),
            "min_watts": low,
            "max_watts": high,
            "usage_watts": self.ask("nvmlDeviceGetPowerUsage", handle),
        }
        yield "power", {name: None if value is None else value / 1000 for name, value in milliwatts.items()}

    def _links(self, handle: Any) -> Iterator[tuple[str, Any]]:
        yield (
            "pcie",
            {
                "generation": self.ask("nvmlDeviceGetCurrPcieLinkGeneration", handle),
                "width": self.ask("nvmlDeviceGetCurrPcieLinkWidth", handle),
                "max_generation": self.ask("nvmlDeviceGetMaxPcieLinkGeneration", handle),
                "max_width": self.ask("nvmlDeviceGetMaxPcieLinkWidth", handle),
            },
        )
        yield "nvlinks_active", self._nvlinks(handle)
        yield "fabric", fabric(self.ask, self.nvml, handle)

    def _nvlinks(self, handle: Any) -> int | None:
        """Links that are up; None on a card without NVLink. A number past the last link is an invalid argument."""
        states = []
        for link in range(self.nvml.NVML_NVLINK_MAX_LINKS):
            known = len(self.silent)
            state = self.ask("nvmlDeviceGetNvLinkState", handle, link)
            if state is None:
                del self.silent[known:]
                break
            states.append(state)
        return sum(1 for state in states if state) if states else None

    def _places(self, handle: Any) -> Iterator[tuple[str, Any]]:
        yield "cpu_affinity", ranges(bits(self.ask("nvmlDeviceGetCpuAffinity", handle, _CPU_WORDS)))
        nodes = bits(self.ask("nvmlDeviceGetMemoryAffinity", handle, _NODE_WORDS, _NODE_SCOPE))
        yield "numa_node", nodes[0] if len(nodes) == 1 else None


def _library_version(child: Child) -> str | None:
    """The version of the NVML library, which it tells even when it cannot reach the driver."""
    try:
        return text(child.nvml.nvmlSystemGetNVMLVersion())
    except child.nvml.NVMLError:
        return None


def converse(child: Child, only: list[int] | None, rows: bool, gpus: bool, use: bool = False) -> None:
    """`only`: the GPUs to talk about, all by default; `gpus`, `rows`: which of the two kinds of facts are wanted; `use`: of `gpus` only that."""
    nvml = child.nvml
    child.tell({"asking": "nvmlInit"})
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        child.tell({"refused": error.value, "nvml_version": _library_version(child)})
        return
    child.tell({"driver": child.driver(), "count": nvml.nvmlDeviceGetCount()})
    alive = []
    for index in range(nvml.nvmlDeviceGetCount()) if only is None else only:
        facts = child.gpu(index, use) if gpus else {"index": index}
        if gpus:
            child.tell({"gpu": facts})
        if "failed" not in facts:
            alive.append(index)
    if rows:
        handles = {index: child.handle(index) for index in alive}
        for index in alive:
            child.tell({"row": row(child.ask_pair, index, handles)})
    child.tell({"done": True})


def main() -> None:
    request = json.loads(sys.argv[1])
    # What a library prints must not end up among our lines.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def tell(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")

    import pynvml

    if request["library"]:
        try:
            pynvml.nvmlLib = ctypes.CDLL(request["library"])
        except OSError as error:
            tell({"unloadable": str(error)})
            return
    try:
        converse(Child(pynvml, tell), request["only"], request["rows"], request["gpus"], request["use"])
    except Exception as error:  # whatever it is, the parent can say so; there is nobody else to tell
        tell({"broke": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
