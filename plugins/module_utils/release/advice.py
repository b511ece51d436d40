# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to do about a GPU that is not free, by what can be seen from here: sentences. Private to the collection, may change any time."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ..observe.nvml.errors import LIB_RM_VERSION_MISMATCH
from ..observe.nvml.usage import GpuUse, UseReading
from ..observe.virtualisation import Virtualisation

_INITIAL_PID_NAMESPACE = "pid:[4026531836]"  # PROC_PID_INIT_INO of include/linux/proc_ns.h, the same on every kernel


@dataclass(frozen=True)
class Visibility:
    """`kind`, `proxmox`: as `Virtualisation` has them."""

    root: bool
    initial_pid_namespace: bool
    kind: str
    proxmox: bool | None = None

    @property
    def container(self) -> bool:
        """Whether others may use the GPUs unseen. A container that shares its host's pid namespace sees all, and is none in this."""
        return not self.initial_pid_namespace

    @property
    def guest(self) -> bool:
        """Whether the machine that we see as a whole is somebody else's guest, who may refuse a reset."""
        return self.initial_pid_namespace and self.kind != "bare_metal"


def read_place(virtualisation: Virtualisation, namespace: str = "/proc/self/ns/pid") -> Visibility:
    """A pid namespace that cannot be told counts as a container's: the wrong advice is then to ask the host, not to reset a GPU in use."""
    try:
        initial = os.readlink(namespace) == _INITIAL_PID_NAMESPACE
    except OSError:
        initial = False
    return Visibility(os.geteuid() == 0, initial, virtualisation.kind, virtualisation.proxmox)


_GUESTS_MODULE = "blackwell.inference.proxmox_gpu_guests"


def ask_host(visibility: Visibility) -> str:
    """To learn whose unseen memory is."""
    if visibility.proxmox:
        return f"On the Proxmox host run the module {_GUESTS_MODULE}, or set inference_proxmox_host."
    return "On the host of this container run the module blackwell.inference.gpu_release, which sees the processes of all containers."


def reset(use: GpuUse, visibility: Visibility) -> str:
    """A reset is refused while anything has the GPU open, the driver's own daemons too."""
    idle = "once nothing has the GPU open, nvidia-persistenced and DCGM included"
    if visibility.container and visibility.proxmox:
        return (
            f"A container may not reset a GPU: on the Proxmox host run the module {_GUESTS_MODULE} with consent reset."
        )
    if visibility.container:
        # The host numbers its GPUs by itself.
        name = use.uuid or use.pci_address or use.index
        return f"A container may not reset a GPU: on its host run `nvidia-smi --gpu-reset -i {name}`, {idle}."
    command = f"Run `nvidia-smi --gpu-reset -i {use.index}` as root, {idle}"
    if visibility.guest:
        return (
            f"{command}; a guest ({visibility.kind}) may be refused that: then stop it and start it again on its host."
        )
    return f"{command}; on a machine with NVSwitches without `-i {use.index}`."


def reboot(visibility: Visibility) -> str:
    """Of what the GPU hangs on."""
    if visibility.container:
        return "Reboot the host of this container."
    if visibility.guest:
        return f"Stop this guest ({visibility.kind}) and start it again on its host; where that does not help, reboot the host."
    return "Reboot this machine; where that does not help, switch its power off for half a minute."


def reboot_kernel(visibility: Visibility) -> str:
    """Of the kernel that a process is stuck in."""
    return "Reboot the host of this container." if visibility.container else "Reboot this machine."


def recover(use: GpuUse, visibility: Visibility) -> str:
    """What the driver's recovery action comes to."""
    if use.recovery_action == "recover_imex":
        return "Restart nvidia-imex on all machines of the GPU's IMEX domain, then look again."
    if use.recovery_action in REBOOT_ACTIONS:
        return reboot(visibility)
    return reset(use, visibility)


REBOOT_ACTIONS = ("node_reboot", "system_reboot")


def make_nvml_answer(reading: UseReading, visibility: Visibility) -> str:
    if reading.absent:
        return "Run this on the machine that has the cards."
    if reading.driver_hung:
        return reboot(visibility)
    if reading.refused != LIB_RM_VERSION_MISMATCH:
        return "Until NVML answers nothing is known of the GPUs: once what the reason names is put right, look again."
    if visibility.container:
        return "Install the host's driver version in this container, then look again."
    return "Reload the NVIDIA kernel module, or reboot this machine, then look again."
