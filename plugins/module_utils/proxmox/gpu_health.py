# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a GPU that no process has open is in order, and its reset. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Iterable

from ..core.errors import ObservationError
from ..core.units import MIB
from ..observe.files import HostFiles
from ..observe.kernel_log import read_kernel_log
from ..observe.pci import pci_address
from ..release.kernel_faults import GAVE_UP
from ..release.request import IDLE_MEMORY_BYTES
from .commands import Ran, Run
from .inventory import HostGpu

QUERY = ("nvidia-smi", "--query-gpu=pci.bus_id,memory.used,memory.total", "--format=csv,noheader,nounits")
QUERY_SECONDS = 30.0
RESET_SECONDS = 150.0  # the kernel itself waits a minute for a card to come back, twice where it tries another way
_IDLE_MIB = IDLE_MEMORY_BYTES // MIB
_SILENT = b"\xff\xff"


def faults_of(files: HostFiles, run: Run, gpus: Iterable[HostGpu]) -> dict[str, str]:
    """Of GPUs on which nobody has a context: a sentence for each that is not as a free one is, by address."""
    gpus = tuple(gpus)
    found = {gpu.address: _SILENCE.format(gpu.address) for gpu in gpus if is_silent(files, gpu.address)}
    driven = [gpu.address for gpu in gpus if gpu.device and gpu.address not in found]
    if driven:
        found.update(memory_faults(run(QUERY, QUERY_SECONDS), driven))
    return found


def is_silent(files: HostFiles, address: str) -> bool:
    """A card that does not answer reads as ones. `config` is the card's; the files `vendor` and `device` are the kernel's memory of it."""
    try:
        with open(files.path(f"/sys/bus/pci/devices/{address}/config"), "rb") as config:
            return config.read(2) == _SILENT
    except OSError:
        return False


def memory_faults(ran: Ran, addresses: Iterable[str]) -> dict[str, str]:
    """What `nvidia-smi` says against these GPUs, all of which nobody holds."""
    used = {}
    for line in ran.stdout.splitlines():
        words = [word.strip() for word in line.split(",")]
        if len(words) == 3:
            used[pci_address(words[0])] = words[1:]
    return {address: fault for address in addresses if (fault := _memory_fault(ran, address, used.get(address)))}


def reset_command(files: HostFiles, gpu: HostGpu) -> tuple[str, ...] | None:
    """What resets it: its driver, or else the kernel by the ways that `reset_method` lists, in that order. None: there is no way."""
    if gpu.device:
        return ("nvidia-smi", "--gpu-reset", "-i", gpu.address)
    home = f"/sys/bus/pci/devices/{gpu.address}"
    if not files.exists(f"{home}/reset") or not files.text(f"{home}/reset_method"):
        return None
    # A process of its own: a write that hangs with the card must not take the module with it.
    return ("sh", "-c", 'echo 1 >"$1"', "reset", files.path(f"{home}/reset"))


def gave_up(addresses: Iterable[str], since: float) -> str | None:
    """The line in which the kernel says that one of these cards did not come back; None too where its log cannot be read."""
    try:
        log = read_kernel_log(f"@{since:.0f}")
    except ObservationError:
        return None
    lines = (entry.message for entry in log.entries if GAVE_UP.search(entry.message))
    return next((line for line in lines if any(address in line for address in addresses)), None)


_SILENCE = "GPU {} does not answer on the PCI bus."


def _memory_fault(ran: Ran, address: str, words: list[str] | None) -> str | None:
    if words is None:
        return f"The memory of GPU {address} could not be read: nvidia-smi {'does not list it' if ran.ok else ran.complaint}."
    if not all(word.isdigit() for word in words):
        return f"The memory of GPU {address} could not be read: nvidia-smi shows {words[0]}."
    used, total = map(int, words)
    if used <= max(_IDLE_MIB, total // 100):
        return None
    return f"{used} MiB of GPU {address} are in use, and no process of this host has it open."
