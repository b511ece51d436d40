# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The place we look from: how much of the machine's processes can be seen. Private to the collection, may change any time."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ..observe.virtualisation import Virtualisation

_INITIAL_PID_NAMESPACE = "pid:[4026531836]"  # PROC_PID_INIT_INO of include/linux/proc_ns.h, the same on every kernel


@dataclass(frozen=True)
class Place:
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


def read_place(virtualisation: Virtualisation, namespace: str = "/proc/self/ns/pid") -> Place:
    """A pid namespace that cannot be told counts as a container's: the wrong advice is then to ask the host, not to reset a GPU in use."""
    try:
        initial = os.readlink(namespace) == _INITIAL_PID_NAMESPACE
    except OSError:
        initial = False
    return Place(os.geteuid() == 0, initial, virtualisation.kind, virtualisation.proxmox)
