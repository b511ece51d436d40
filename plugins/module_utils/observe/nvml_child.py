# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that talks to NVML, run as a process of its own because a driver call may never return. Private to the collection.

It prints one JSON object a line: `{"asking": CALL}` before each call, then what it learnt: `driver` once, `gpu` for each GPU, `row` of the
interconnect matrices for each GPU, `done`. It never changes anything. Holds for nvidia-ml-py 13.615.71.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Iterator
from typing import Any, Callable

from ansible_collections.blackwell.inference.plugins.module_utils.observe.nvml_words import (
    ANCESTORS,
    FABRIC_STATES,
    P2P,
    P2P_READ,
    P2P_WRITE,
    bits,
    pair,
    pci_address,
    ranges,
    status_name,
    text,
)

_CPU_WORDS = 64  # 64-bit words of a CPU mask: 4096 CPUs
_NODE_WORDS = 4
_NODE_SCOPE = 0


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
            answer = getattr(nvml, call)(*arguments)
        except nvml.NVMLError as error:
            if error.value in (nvml.NVML_ERROR_GPU_IS_LOST, nvml.NVML_ERROR_RESET_REQUIRED):
                raise Lost(error.value) from error
            if error.value not in (nvml.NVML_ERROR_NOT_SUPPORTED, nvml.NVML_ERROR_FUNCTION_NOT_FOUND):
                self.silent.append({"what": call, "why": str(error)})
            return None
        return answer.decode() if isinstance(answer, bytes) else answer

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

    def gpu(self, index: int) -> dict[str, Any]:
        """All about one GPU; `error` is NVML's number when it broke off, what was learnt before stays."""
        facts: dict[str, Any] = {"index": index}
        self.silent = []
        try:
            handle = self.handle(index)
            for facet in (self._identity, self._memory, self._modes, self._links, self._places):
                facts.update(facet(handle))
        except Lost as lost:
            facts["failed"] = lost.args[0]
        except self.nvml.NVMLError as error:
            facts["failed"] = error.value
        facts["silent"] = self.silent
        return facts

    def row(self, index: int, handles: dict[int, Any]) -> dict[str, Any]:
        """How GPU `index` reaches each of the others."""
        ancestor: dict[int, str | None] = {}
        read: dict[int, str | None] = {}
        write: dict[int, str | None] = {}
        for other, handle in handles.items():
            if other == index:
                ancestor[other] = read[other] = write[other] = "SELF"
                continue
            both = (handles[index], handle)
            ancestor[other] = ANCESTORS.get(self._ask_pair("nvmlDeviceGetTopologyCommonAncestor", *both))
            read[other] = P2P.get(self._ask_pair("nvmlDeviceGetP2PStatus", *both, P2P_READ))
            write[other] = P2P.get(self._ask_pair("nvmlDeviceGetP2PStatus", *both, P2P_WRITE))
        return {"index": index, "ancestor": ancestor, "p2p_read": read, "p2p_write": write}

    def _ask_pair(self, call: str, *arguments: Any) -> Any:
        try:
            return self.ask(call, *arguments)
        except Lost:
            return None

    def _identity(self, handle: Any) -> Iterator[tuple[str, Any]]:
        yield "uuid", self.ask("nvmlDeviceGetUUID", handle)
        pci = self.ask("nvmlDeviceGetPciInfo_v3", handle)
        yield "pci_address", None if pci is None else pci_address(text(pci.busId))
        yield "name", self.ask("nvmlDeviceGetName", handle)
        yield "serial", self.ask("nvmlDeviceGetSerial", handle)
        yield "minor", self.ask("nvmlDeviceGetMinorNumber", handle)
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
        yield "fabric", self._fabric(handle)

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

    def _fabric(self, handle: Any) -> dict[str, Any] | None:
        info = self.nvml.c_nvmlGpuFabricInfoV_t()
        if self.ask("nvmlDeviceGetGpuFabricInfoV", handle, ctypes.byref(info)) is None:
            info = self.nvml.c_nvmlGpuFabricInfo_t()
            if self.ask("nvmlDeviceGetGpuFabricInfo", handle, ctypes.byref(info)) is None:
                return None
        if info.state == self.nvml.NVML_GPU_FABRIC_STATE_NOT_SUPPORTED:
            return None
        return {"state": FABRIC_STATES.get(info.state, str(info.state)), "status": status_name(self.nvml, info.status)}

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


def converse(child: Child, only: list[int] | None, rows: bool, gpus: bool) -> None:
    """`only`: the GPUs to talk about, all by default; `gpus`, `rows`: which of the two kinds of facts are wanted."""
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
        facts = child.gpu(index) if gpus else {"index": index}
        if gpus:
            child.tell({"gpu": facts})
        if "failed" not in facts:
            alive.append(index)
    if rows:
        handles = {index: child.handle(index) for index in alive}
        for index in alive:
            child.tell({"row": child.row(index, handles)})
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
        converse(Child(pynvml, tell), request["only"], request["rows"], request["gpus"])
    except Exception as error:  # whatever it is, the parent can say so; there is nobody else to tell
        tell({"broke": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
