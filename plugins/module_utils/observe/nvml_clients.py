# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who uses a GPU, and what the driver wants done with it, as NVML tells. Private to the collection, may change any time.

`ask(CALL, *ARGUMENTS)` gives the answer, None when there is none. NVML counts process ids in the caller's pid namespace, and leaves out processes
that have no number there. Holds for drivers 570 to 620.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Callable, Optional

from .nvml_words import RECOVERY_ACTIONS

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
