# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configuration files and lists of a Proxmox VE host, in the formats of pve-container 6.1.10 and qemu-server 9.2.6."""

from __future__ import annotations

from ansible_collections.blackwell.inference.plugins.module_utils.proxmox.guest_config import (
    Settings,
    container_settings,
    given_addresses,
    mapped_addresses,
    running_containers,
    running_vms,
    vm_settings,
)

PCT_LIST = (
    "VMID       Status     Lock         Name                \n"
    "101        running                 inference           \n"
    "102        stopped    backup       other               \n"
    "103        running    backup       running             \n"
)  # fmt: skip
QM_LIST = (
    "      VMID NAME                 STATUS     MEM(MB)    BOOTDISK(GB) PID       \n"
    "       201 inference            running    524288            64.00 4711      \n"
    "       202 VM 202               stopped    2048               0.00 0         \n"
    "       203 VM 203               paused     2048              32.00 4712      \n"
    "       204 a-name-of-more-than-twenty-characters running    2048              32.00 4713      \n"
)  # fmt: skip
CONTAINER = """\
#dev0: /dev/nvidia7
arch: amd64
dev0: /dev/nvidia0,mode=0666
dev1: path=/dev/nvidia1,gid=44
dev2: /dev/nvidia-uvm
dev3: /dev/nvidia-caps/nvidia-cap1
hostname: inference
lxc.mount.entry: /dev/nvidia3 dev/nvidia3 none bind,optional,create=file
lxc.cgroup2.devices.allow: c 195:* rwm

[before-update]
dev0: /dev/nvidia5
hostname: earlier
"""
VM = """\
name: inference
hostpci0: 0000:01:00,pcie=1,x-vga=0
hostpci1: mapping=gpu2,pcie=1
hostpci2: host=02:00.0;0000:03:00,pcie=1
hostpci10: 00010000:E1:00.0
machine: q35
[snapshot]
hostpci0: 0000:09:00
"""
MAPPING = """\
pci: gpu2
\tdescription two nodes
\tmap id=10de:2bb5,iommugroup=17,node=pve1,path=0000:41:00,subsystem-id=10de:204e
\tmap id=10de:2bb5,iommugroup=18,node=pve2,path=0000:42:00.0

pci: pool
\tmap id=10de:2bb5,iommugroup=19,node=pve1,path=0000:43:00.0
\tmap id=10de:2bb5,iommugroup=20,node=pve1,path=0000:44:00.0;0000:44:00.1
\tmdev 0
"""


def test_what_runs():
    assert running_containers(PCT_LIST) == {101, 103}
    assert running_vms(QM_LIST) == {201, 203, 204}
    assert running_containers("") == running_vms("") == frozenset()


def test_gpus_of_a_container_are_nodes():
    assert container_settings(CONTAINER) == Settings("inference", devices=("nvidia0", "nvidia1", "nvidia3"))


def test_gpus_of_a_vm_are_addresses_and_mappings():
    addresses = ("0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "10000:e1:00.0")
    assert vm_settings(VM) == Settings("inference", addresses=addresses, mappings=("gpu2",))


def test_a_guest_without_anything():
    assert container_settings("") == vm_settings("") == Settings(None)


def test_mappings_are_those_of_this_node():
    assert mapped_addresses(MAPPING, "pve1") == {
        "gpu2": ("0000:41:00.0",),
        "pool": ("0000:43:00.0", "0000:44:00.0", "0000:44:00.1"),
    }
    assert mapped_addresses(MAPPING, "pve2") == {"gpu2": ("0000:42:00.0",), "pool": ()}
    assert mapped_addresses("", "pve1") == {}


def test_given_addresses_come_once():
    settings = Settings(None, ("nvidia1", "nvidia9"), ("0000:41:00.0",), ("gpu2", "unknown"))
    assert given_addresses(settings, {"nvidia1": "0000:02:00.0"}, mapped_addresses(MAPPING, "pve1")) == (
        "0000:02:00.0",
        "0000:41:00.0",
    )
