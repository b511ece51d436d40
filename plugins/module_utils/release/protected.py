# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that are never ended, whoever runs them. Private to the collection, may change any time.

Three kinds, by what they mean for a GPU that is wanted free:

* the driver's own (persistence, fabric, monitoring): on every healthy host, where they use next to nothing. No obstacle as processes.
* MPS and displays: no obstacle as processes either, for an idle MPS server or greeter starves nobody.
* virtual machines: another machine's work. An obstacle like any other process.

Of all of them the memory counts as used, and the GPU is not free while that is too much: that of MPS and displays grows with their clients, a vGPU
manager holds the memory of virtual machines, and anybody can give his program such a name.

nvidia-smi and other tools that only watch are not here: they have no context, and one of ours that hangs may be ended.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from ..observe.holders.scan import Holder

_COMM_LENGTH = 15  # the kernel keeps no more of a process's name


@dataclass(frozen=True)
class Kind:
    """`obstacle`: it can stand in the way as a process. `counts`: it works for others, so that its context may be somebody's."""

    obstacle: bool
    counts: bool
    advice: str


DRIVER = Kind(False, False, "It stays, and a GPU is free all the same while it uses little memory.")
MPS = Kind(False, True, "Once it has no clients, `echo quit | nvidia-cuda-mps-control` ends it.")
DISPLAY = Kind(False, True, "It is never ended here; stop the display manager if its GPU is wanted whole.")
GUEST = Kind(True, True, "It is never ended here; stop the virtual machine by what started it.")

_DISPLAYS = (
    *("Xorg", "Xwayland", "gdm", "gdm-wayland-session", "gdm-x-session", "gdm3", "lightdm", "sddm", "sddm-greeter"),
    *("Hyprland", "cage", "cosmic-comp", "gamescope", "gnome-shell", "kwin_wayland", "kwin_x11", "labwc", "mutter"),
    *("plasmashell", "sway", "weston"),
)

PROGRAMS: dict[str, tuple[Kind, str]] = {
    "dcgm-exporter": (DRIVER, "the exporter of GPU metrics"),
    "nv-fabricmanager": (DRIVER, "the fabric manager"),
    "nv-hostengine": (DRIVER, "the DCGM host engine"),
    "nvidia-fabricmanager": (DRIVER, "the fabric manager"),
    "nvidia-gridd": (DRIVER, "the driver's licence daemon"),
    "nvidia-imex": (DRIVER, "the IMEX daemon"),
    "nvidia-persistenced": (DRIVER, "the driver's persistence daemon"),
    "nvidia-powerd": (DRIVER, "the driver's power daemon"),
    "nvidia-topologyd": (DRIVER, "the driver's topology daemon"),
    "nvidia-vgpu-mgr": (DRIVER, "the vGPU manager"),
    "nvidia-vgpud": (DRIVER, "the vGPU daemon"),
    "nvlsm": (DRIVER, "the NVLink subnet manager"),
    "nvidia-cuda-mps-control": (MPS, "the control program of MPS"),
    "nvidia-cuda-mps-server": (MPS, "the MPS server, which holds the contexts of its clients"),
    **dict.fromkeys(_DISPLAYS, (DISPLAY, "a part of the display")),
    "kvm": (GUEST, "a virtual machine"),
}
"""By the base name of the executable."""

UNITS: dict[str, str] = {
    "dcgm-exporter.service": "dcgm-exporter",
    "dcgm.service": "nv-hostengine",
    "gdm.service": "gdm",
    "gdm3.service": "gdm3",
    "lightdm.service": "lightdm",
    "nvidia-dcgm.service": "nv-hostengine",
    "nvidia-fabricmanager.service": "nv-fabricmanager",
    "nvidia-gridd.service": "nvidia-gridd",
    "nvidia-imex.service": "nvidia-imex",
    "nvidia-persistenced.service": "nvidia-persistenced",
    "nvidia-powerd.service": "nvidia-powerd",
    "nvidia-topologyd.service": "nvidia-topologyd",
    "nvidia-vgpu-mgr.service": "nvidia-vgpu-mgr",
    "nvidia-vgpud.service": "nvidia-vgpud",
    "sddm.service": "sddm",
}
"""Unit to the program that it runs, for where the executable cannot be seen."""

_CUT = {name[:_COMM_LENGTH]: name for name in PROGRAMS}


@dataclass(frozen=True)
class Protected:
    """A program that is never ended; `text` is its name and what it is."""

    kind: Kind
    text: str


def protected_program(holder: Holder) -> Protected | None:
    """By the executable. Where that cannot be seen, by the unit or else the name: a name can lie, but then it only keeps something alive."""
    program = holder.identity.executable
    if program is not None:
        name = posixpath.basename(program)
    else:
        name = UNITS.get(holder.unit or "") or _CUT.get(holder.name[:_COMM_LENGTH], holder.name)
    if name.startswith("qemu-system-"):
        return Protected(GUEST, f"{name} is a virtual machine")
    if name not in PROGRAMS:
        return None
    kind, what = PROGRAMS[name]
    return Protected(kind, f"{name} is {what}")
