# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVML's answers in the words of Linux, nvidia-smi and NVML's own names. Private to the collection, may change any time.

`ask(CALL, *ARGUMENTS)` gives the answer, None when there is none. NVML counts process ids in the caller's pid namespace, and leaves out processes
that have no number there. Holds for drivers 570 to 620.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any, Callable, Optional

ANCESTORS = {0: "INTERNAL", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
P2P = {
    0: "OK",
    1: "CHIPSET_NOT_SUPPORTED",
    2: "GPU_NOT_SUPPORTED",
    3: "IOH_TOPOLOGY_NOT_SUPPORTED",
    4: "DISABLED_BY_REGKEY",
    5: "NOT_SUPPORTED",
    6: "UNKNOWN",
}
P2P_READ, P2P_WRITE = 0, 1  # the package's own constant for reading is a tuple, by a stray comma
FABRIC_STATES = {1: "not_started", 2: "in_progress", 3: "completed"}
RECOVERY_ACTIONS = {
    0: "none",
    1: "gpu_reset",
    2: "node_reboot",
    3: "drain_p2p",
    4: "drain_and_reset",
    5: "recover_imex",
    6: "bus_reset",
    7: "system_reboot",
}


def ranges(numbers: list[int]) -> str | None:
    """`[0, 1, 2, 5]` as Linux writes CPU lists: `0-2,5`; None for none."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(f"{low}-{high}" if high > low else str(low) for low, high in parts) or None


def status_name(nvml: Any, value: int) -> str:
    """The name of an NVML return code without its prefix, `SUCCESS` for 0."""
    names = {getattr(nvml, name): name[len("NVML_ERROR_") :] for name in dir(nvml) if name.startswith("NVML_ERROR_")}
    return "SUCCESS" if value == 0 else names.get(value, str(value))


def bits(words: Any) -> list[int]:
    """The numbers that a mask of 64-bit words holds."""
    return [64 * position + bit for position, word in enumerate(words or ()) for bit in range(64) if word >> bit & 1]


def pair(modes: Any) -> dict[str, bool] | None:
    """A mode now and after the next reset."""
    return None if modes is None else {"current": bool(modes[0]), "pending": bool(modes[1])}


def text(value: Any) -> str:
    """Some of the package's answers and all of its structures hold bytes."""
    return value.decode() if isinstance(value, bytes) else str(value)


_COMPUTE = "nvmlDeviceGetComputeRunningProcesses"
_OTHERS = ("nvmlDeviceGetGraphicsRunningProcesses", "nvmlDeviceGetMPSComputeRunningProcesses")
_RECOVERY_ACTION = 230  # by number, as older packages have no name for it

Ask = Callable[..., Any]
Listing = list[tuple[int, Optional[int]]]


def processes(ask: Ask, handle: Any) -> Listing | None:
    """Pid and bytes (None: not told) of each process that uses the GPU; None where the driver keeps no list."""
    listed, *others = [ask(call, handle) for call in (_COMPUTE, *_OTHERS)]
    if listed is None:
        return None
    return _merged(process for listing in (listed, *others) for process in listing or ())


def _merged(listed: Iterable[Any]) -> Listing:
    """A process on two lists has all its memory told on both."""
    memory: dict[int, int | None] = {}
    for process in listed:
        known = [size for size in (memory.get(process.pid), process.usedGpuMemory) if size is not None]
        memory[process.pid] = max(known, default=None)
    return sorted(memory.items())


def recovery_action(ask: Ask, handle: Any) -> str | None:
    """The driver's wish, its number where this version has no word for it; None where it is not told."""
    values = ask("nvmlDeviceGetFieldValues", handle, [_RECOVERY_ACTION])
    if not values or values[0].nvmlReturn != 0:
        return None
    number = values[0].value.uiVal
    return RECOVERY_ACTIONS.get(number, str(number))


def fabric(ask: Ask, nvml: Any, handle: Any) -> dict[str, Any] | None:
    """None on a card without NVSwitches."""
    info = nvml.c_nvmlGpuFabricInfoV_t()
    if ask("nvmlDeviceGetGpuFabricInfoV", handle, ctypes.byref(info)) is None:
        info = nvml.c_nvmlGpuFabricInfo_t()
        if ask("nvmlDeviceGetGpuFabricInfo", handle, ctypes.byref(info)) is None:
            return None
    if info.state == nvml.NVML_GPU_FABRIC_STATE_NOT_SUPPORTED:
        return None
    return {"state": FABRIC_STATES.get(info.state, str(info.state)), "status": status_name(nvml, info.status)}


def row(ask: Ask, index: int, handles: dict[int, Any]) -> dict[str, Any]:
    """How GPU `index` reaches each of the others."""
    ancestor: dict[int, str | None] = {}
    read: dict[int, str | None] = {}
    write: dict[int, str | None] = {}
    for other, handle in handles.items():
        if other == index:
            ancestor[other] = read[other] = write[other] = "SELF"
            continue
        both = (handles[index], handle)
        ancestor[other] = ANCESTORS.get(ask("nvmlDeviceGetTopologyCommonAncestor", *both))
        read[other] = P2P.get(ask("nvmlDeviceGetP2PStatus", *both, P2P_READ))
        write[other] = P2P.get(ask("nvmlDeviceGetP2PStatus", *both, P2P_WRITE))
    return {"index": index, "ancestor": ancestor, "p2p_read": read, "p2p_write": write}
