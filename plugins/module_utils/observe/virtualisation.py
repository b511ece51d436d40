# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kind of machine this is, and how we know. Private to the collection, may change any time.

A container is named before the VM it runs in: its limits are what a server meets first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from .files import HostFiles

_DMI = "/sys/class/dmi/id"
_CONTAINERS = (
    "lxc",
    "lxc-libvirt",
    "docker",
    "podman",
    "systemd-nspawn",
    "openvz",
    "wsl",
    "proot",
    "pouch",
    "container-other",
)


class _Sign(NamedTuple):
    """A file that gives a kind of machine away: by being there, or by holding a word."""

    path: str
    word: str | None
    kind: str


_SIGNS = (
    _Sign("/.dockerenv", None, "docker"),
    _Sign("/run/.containerenv", None, "podman"),
    _Sign("/proc/1/environ", "container=lxc", "lxc"),
    _Sign("/proc/1/environ", "container=systemd-nspawn", "systemd-nspawn"),
    _Sign("/proc/1/environ", "container=podman", "podman"),
    # Only inside a container does lxcfs lie over /proc; a Proxmox host has it mounted elsewhere.
    _Sign("/proc/self/mountinfo", " /proc/meminfo /proc/meminfo ", "lxc"),
    _Sign(f"{_DMI}/sys_vendor", "QEMU", "kvm"),
    _Sign(f"{_DMI}/bios_vendor", "Proxmox", "kvm"),
    _Sign(f"{_DMI}/sys_vendor", "VMware", "vmware"),
    _Sign(f"{_DMI}/sys_vendor", "Microsoft Corporation", "microsoft"),
    _Sign(f"{_DMI}/sys_vendor", "Xen", "xen"),
    _Sign(f"{_DMI}/sys_vendor", "Amazon EC2", "amazon"),
    _Sign(f"{_DMI}/sys_vendor", "Google", "google"),
)


@dataclass(frozen=True)
class Virtualisation:
    """`proxmox` is None where a Proxmox VE host would not show."""

    kind: str
    proxmox: bool | None
    evidence: tuple[str, ...]


class Module(Protocol):
    """The part of AnsibleModule that is needed here."""

    def get_bin_path(self, arg: str) -> str | None: ...

    def run_command(self, args: list[str]) -> tuple[int, str, str]: ...


def ask_systemd(module: Module) -> str | None:
    """What `systemd-detect-virt` prints; None where it is absent or silent. It exits with 1 for `none`, which is an answer."""
    program = module.get_bin_path("systemd-detect-virt")
    if program is None:
        return None
    _code, output, _errors = module.run_command([program])
    return output.strip() or None


def read_virtualisation(files: HostFiles, detected: str | None) -> Virtualisation:
    """`detected`: the word of `systemd-detect-virt`, which wins over our own evidence."""
    evidence: list[str] = []
    kinds: list[str] = []
    if detected is not None:
        evidence.append(f"systemd-detect-virt says {detected}")
        kinds.append("bare_metal" if detected == "none" else detected)
    manager = files.text("/run/systemd/container")
    if manager:
        evidence.append(f"/run/systemd/container says {manager}")
        kinds.append(manager)
    for sign in _SIGNS:
        if _shows(files, sign):
            evidence.append(f"{sign.path} holds '{sign.word.strip()}'" if sign.word else f"{sign.path} exists")
            kinds.append(sign.kind)
    if " hypervisor" in (files.text("/proc/cpuinfo") or ""):
        evidence.append("/proc/cpuinfo has the flag hypervisor")
        kinds.append("vm-other")
    kind = _kind(kinds, detected)
    guest = any(kind != "bare_metal" and kind not in _CONTAINERS for kind in kinds)
    proxmox, why = _proxmox(files, guest)
    return Virtualisation(kind, proxmox, (*evidence, *why))


def _kind(kinds: list[str], detected: str | None) -> str:
    if not kinds:
        return "bare_metal"
    containers = [kind for kind in kinds if kind in _CONTAINERS]
    return containers[0] if containers and detected is None else kinds[0]


def _shows(files: HostFiles, sign: _Sign) -> bool:
    if sign.word is None:
        return files.exists(sign.path)
    return sign.word in (files.text(sign.path) or "")


def _proxmox(files: HostFiles, guest: bool) -> tuple[bool | None, tuple[str, ...]]:
    """A container shares its host's kernel, so the host shows; a VM shows it only by Proxmox's own firmware (OVMF, not SeaBIOS)."""
    release = files.text("/proc/sys/kernel/osrelease") or ""
    if release.endswith("-pve"):
        return True, (f"the kernel {release} is Proxmox's",)
    if files.exists("/etc/pve/local"):
        return True, ("/etc/pve/local exists",)
    firmware = files.text(f"{_DMI}/bios_vendor") or ""
    if "Proxmox" in firmware:
        return True, (f"the firmware is '{firmware}'",)
    return (None if guest else False), ()
