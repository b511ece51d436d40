# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How GPUs reach each other, as NVML tells: switches, and one row of each matrix. Private to the collection, may change any time."""

from __future__ import annotations

import ctypes
from typing import Any, Callable

from .nvml_words import ANCESTORS, FABRIC_STATES, P2P, P2P_READ, P2P_WRITE, status_name

Ask = Callable[..., Any]  # ask(CALL, *ARGUMENTS): the answer, None when there is none


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
