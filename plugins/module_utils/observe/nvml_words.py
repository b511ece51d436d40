# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVML's numbers in the words of Linux, nvidia-smi and NVML's own names. Private to the collection, may change any time."""

from __future__ import annotations

from typing import Any

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
