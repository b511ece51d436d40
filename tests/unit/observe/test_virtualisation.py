# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kind of machine this is. DMI strings: QEMU's and Proxmox's pve-edk2-firmware 4.x; lxcfs mounts: lxcfs(1)."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.virtualisation import (
    Virtualisation,
    ask_systemd,
    read_virtualisation,
)

DMI = "/sys/class/dmi/id"
RELEASE = "/proc/sys/kernel/osrelease"
LXCFS = "520 505 0:70 {root} {point} rw,nosuid,nodev,relatime - fuse.lxcfs lxcfs rw,user_id=0,group_id=0,allow_other\n"
HYPERVISOR = {"/proc/cpuinfo": "processor : 0\nflags : fpu hypervisor lahf_lm\n"}

CASES = {
    "bare metal": (
        {f"{DMI}/sys_vendor": "ASUSTeK COMPUTER INC.\n", RELEASE: "6.12.48+deb13-amd64\n"},
        "none",
        Virtualisation("bare_metal", False, ("systemd-detect-virt says none",)),
    ),
    "a Proxmox host, which mounts lxcfs for its containers": (
        {RELEASE: "6.17.2-1-pve\n", "/proc/self/mountinfo": LXCFS.format(root="/", point="/var/lib/lxcfs")},
        None,
        Virtualisation("bare_metal", True, ("the kernel 6.17.2-1-pve is Proxmox's",)),
    ),
    "a Proxmox container": (
        {
            RELEASE: "6.17.2-1-pve\n",
            "/proc/1/environ": "TERM=linux\0container=lxc\0",
            "/proc/self/mountinfo": LXCFS.format(root="/proc/meminfo", point="/proc/meminfo"),
        },
        None,
        Virtualisation(
            "lxc",
            True,
            (
                "/proc/1/environ holds 'container=lxc'",
                "/proc/self/mountinfo holds '/proc/meminfo /proc/meminfo'",
                "the kernel 6.17.2-1-pve is Proxmox's",
            ),
        ),
    ),
    "a Proxmox VM with OVMF": (
        {f"{DMI}/sys_vendor": "QEMU\n", f"{DMI}/bios_vendor": "Proxmox distribution of EDK II\n", **HYPERVISOR},
        "kvm",
        Virtualisation(
            "kvm",
            True,
            (
                "systemd-detect-virt says kvm",
                f"{DMI}/sys_vendor holds 'QEMU'",
                f"{DMI}/bios_vendor holds 'Proxmox'",
                "/proc/cpuinfo has the flag hypervisor",
                "the firmware is 'Proxmox distribution of EDK II'",
            ),
        ),
    ),
    "a QEMU VM that may or may not be Proxmox's": (
        {f"{DMI}/sys_vendor": "QEMU\n", f"{DMI}/bios_vendor": "SeaBIOS\n"},
        None,
        Virtualisation("kvm", None, (f"{DMI}/sys_vendor holds 'QEMU'",)),
    ),
    "a container in a VM": (
        {"/.dockerenv": "", f"{DMI}/sys_vendor": "QEMU\n"},
        None,
        Virtualisation("docker", None, ("/.dockerenv exists", f"{DMI}/sys_vendor holds 'QEMU'")),
    ),
    "a container on bare metal": (
        {"/run/.containerenv": "", RELEASE: "6.12.48+deb13-amd64\n"},
        "podman",
        Virtualisation("podman", False, ("systemd-detect-virt says podman", "/run/.containerenv exists")),
    ),
    "a VM made from a container's image: systemd knows better than a left-over file": (
        {"/.dockerenv": ""},
        "kvm",
        Virtualisation("kvm", None, ("systemd-detect-virt says kvm", "/.dockerenv exists")),
    ),
    "an unknown hypervisor": (HYPERVISOR, None, Virtualisation("vm-other", None, ("/proc/cpuinfo has the flag hypervisor",))),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_kind_and_evidence(make_host, name):
    files, detected, expected = CASES[name]
    assert read_virtualisation(make_host(files), detected) == expected


def test_a_recorded_container(make_host):
    seen = read_virtualisation(make_host(recorded="nspawn-on-hybrid"), None)
    assert (seen.kind, seen.evidence) == ("systemd-nspawn", ("/run/systemd/container says systemd-nspawn",))


@pytest.mark.parametrize(
    ("program", "answer", "word"),
    [("/usr/bin/systemd-detect-virt", (1, "none\n", ""), "none"), ("/usr/bin/systemd-detect-virt", (1, "", "x"), None), (None, None, None)],
)  # fmt: skip
def test_what_systemd_says(program, answer, word):
    class Module:
        def get_bin_path(self, arg: str) -> str | None:
            return program

        def run_command(self, args: list[str]) -> tuple[int, str, str]:
            assert args == [program]
            return answer

    assert ask_systemd(Module()) == word
