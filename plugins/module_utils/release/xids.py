# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the numbers of the NVIDIA driver's Xid messages mean for a restart. Private to the collection, may change any time.

docs/xids.md shows this table and says where each row comes from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

APPLICATION = "application"
CONSEQUENCE = "consequence"
HARDWARE = "hardware"
UNKNOWN = "unknown"

KINDS = {
    APPLICATION: "a process brought it about and is ended by it; the GPU is good for the next one",
    CONSEQUENCE: "follows a kill or another Xid, or only informs; it asks for nothing by itself",
    HARDWARE: "the GPU, its firmware or its link has failed; nothing is started on it before it was cured",
    UNKNOWN: "not in this table; it is shown, and stops nothing",
}
"""An unknown number stops nothing: each driver brings new ones and most only inform. Where the driver itself asks for a reset it says so by
Xid 154 and by NVML's recovery action, and both stop."""

RESET = "reset"
FABRIC_RESET = "fabric_reset"
REBOOT = "reboot"
POWER_OFF = "power_off"

CURES = {
    RESET: "Reset the GPU where its driver runs, with nothing open on it (nvidia-smi --gpu-reset -i ADDRESS), or reboot that host.",
    FABRIC_RESET: "Reset all GPUs of the NVLink fabric together where their driver runs (nvidia-smi --gpu-reset), or reboot that host.",
    REBOOT: "Reboot the host that runs the driver.",
    POWER_OFF: "Power the host off for about 30 s and start it again; on some cards a warm reboot keeps this state.",
}
"""From the mildest to the strongest."""


@dataclass(frozen=True)
class Meaning:
    """`cure`: a key of CURES, of hardware faults alone."""

    kind: str
    what: str
    cure: str | None = None


def _same(meaning: Meaning, *numbers: int) -> dict[int, Meaning]:
    return dict.fromkeys(numbers, meaning)


MEANINGS: dict[int, Meaning] = {
    8: Meaning(APPLICATION, "a channel stopped processing"),
    **_same(Meaning(APPLICATION, "invalid or corrupted push buffer"), 11, 25, 32, 80),
    13: Meaning(APPLICATION, "exception in a kernel"),
    31: Meaning(APPLICATION, "memory page fault"),
    **_same(Meaning(CONSEQUENCE, "warning of the driver's firmware"), 37, 38, 44, 66, 67),
    **_same(
        Meaning(APPLICATION, "exception in a copy engine"), 39, 40, 41, 70, 71, 72, 75, 76, 77, 85, *range(126, 136)
    ),
    43: Meaning(CONSEQUENCE, "channel torn down after an error of its process"),
    45: Meaning(CONSEQUENCE, "channel removed because its process ended or another Xid came first"),
    46: Meaning(HARDWARE, "GPU stopped processing", RESET),
    48: Meaning(HARDWARE, "uncorrectable memory error", RESET),
    54: Meaning(HARDWARE, "auxiliary power is not connected", POWER_OFF),
    **_same(
        Meaning(APPLICATION, "exception in a video or image engine"),
        60,
        68,
        *range(82, 85),
        86,
        88,
        89,
        *range(96, 106),
        139,
    ),
    62: Meaning(HARDWARE, "internal micro-controller halted", RESET),
    63: Meaning(CONSEQUENCE, "memory row is remapped at the next reset"),
    64: Meaning(HARDWARE, "memory row could not be remapped", RESET),
    69: Meaning(APPLICATION, "class error in the graphics engine"),
    74: Meaning(HARDWARE, "NVLink error", FABRIC_RESET),
    79: Meaning(HARDWARE, "GPU has fallen off the bus", POWER_OFF),
    92: Meaning(CONSEQUENCE, "many corrected memory errors"),
    93: Meaning(CONSEQUENCE, "InfoROM was written more often than provisioned"),
    94: Meaning(APPLICATION, "contained memory error, which ends the processes that met it"),
    95: Meaning(HARDWARE, "uncontained memory error", RESET),
    **_same(Meaning(CONSEQUENCE, "test message"), 106, 107),
    109: Meaning(HARDWARE, "context switch timed out", RESET),
    110: Meaning(HARDWARE, "security fault", RESET),
    119: Meaning(HARDWARE, "GSP firmware did not answer", RESET),
    120: Meaning(HARDWARE, "GSP firmware failed", RESET),
    121: Meaning(CONSEQUENCE, "corrected error of the link between the chips"),
    136: Meaning(HARDWARE, "NVLink training failed", FABRIC_RESET),
    137: Meaning(APPLICATION, "access to a peer GPU that was not allowed"),
    140: Meaning(HARDWARE, "uncorrected memory error escaped", RESET),
    141: Meaning(CONSEQUENCE, "error in a fast path of CUDA"),
    143: Meaning(HARDWARE, "GPU could not be initialised", RESET),
    **_same(Meaning(HARDWARE, "NVLink error", FABRIC_RESET), *range(144, 151)),
    151: Meaning(HARDWARE, "keys of confidential computing could not be rotated", REBOOT),
    154: Meaning(HARDWARE, "driver asks for the GPU's recovery", RESET),
    155: Meaning(HARDWARE, "NVLink error that software defined", FABRIC_RESET),
    156: Meaning(CONSEQUENCE, "part of the GPU is retired at the next reset"),
    157: Meaning(CONSEQUENCE, "part of the GPU could not be retired"),
    158: Meaning(HARDWARE, "fatal timeout of the GPU", RESET),
    **_same(Meaning(CONSEQUENCE, "channel of the memory was retired, or could not be"), 160, 161),
    167: Meaning(HARDWARE, "fatal timeout on PCI Express", POWER_OFF),
    168: Meaning(HARDWARE, "memory is smaller than the card's, after errors in a protected region", REBOOT),
    169: Meaning(HARDWARE, "security processor halted", RESET),
    171: Meaning(HARDWARE, "uncorrectable error in DRAM", RESET),
    172: Meaning(HARDWARE, "uncorrectable error in SRAM", RESET),
    175: Meaning(HARDWARE, "GSP firmware did not answer in time", RESET),
}


def meaning_of(number: int, text: str) -> Meaning:
    """`text`: what the line says after the number. Of two kinds of line it decides: NVLink 5 marks errors that the link survived, and Xid 154 names
    the wanted recovery by NVML's codes, which stay while the words beside them change between drivers.
    """
    if number in range(144, 151) and " Nonfatal " in text:
        return Meaning(CONSEQUENCE, "NVLink error that the link survived")
    code = re.search(r" to 0x([0-9a-f]+)", text) if number == 154 else None
    if code:
        return _recovery(int(code.group(1), 16))
    return MEANINGS.get(number, Meaning(UNKNOWN, "not known here, see NVIDIA's Xid catalogue"))


def _recovery(code: int) -> Meaning:
    if code == 0:
        return Meaning(CONSEQUENCE, "driver asks for no recovery any more")
    if code in (2, 7):
        return Meaning(HARDWARE, "driver asks for a reboot", REBOOT)
    return MEANINGS[154]
