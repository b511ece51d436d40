# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processors, as /proc/cpuinfo and the topology in /sys show them."""

from __future__ import annotations

from ansible_collections.blackwell.inference.plugins.module_utils.observe.kernel import Cpu, read_cpu


def x86(number: int, package: int, core: int) -> str:
    return (
        f"processor\t: {number}\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9575F 64-Core Processor\n"
        f"physical id\t: {package}\ncore id\t\t: {core}\n\n"
    )


def test_two_sockets_with_two_threads_a_core(make_host):
    text = "".join(
        x86(thread * 8 + package * 4 + core, package, core)
        for thread in (0, 1)
        for package in (0, 1)
        for core in range(4)
    )
    assert read_cpu(make_host({"/proc/cpuinfo": text})) == Cpu("AMD EPYC 9575F 64-Core Processor", 16, 8, 2)


def test_arm_has_no_model_name_and_its_topology_in_sys(make_host):
    text = "".join(f"processor\t: {number}\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n\n" for number in range(2))
    topology = {
        f"/sys/devices/system/cpu/cpu{number}/topology/{name}": value
        for number in range(2)
        for name, value in (("physical_package_id", "0\n"), ("core_id", f"{number}\n"))
    }
    assert read_cpu(make_host({"/proc/cpuinfo": text, **topology})) == Cpu("Arm implementer 0x41 part 0xd4f", 2, 2, 1)


def test_a_kernel_that_shows_no_packages(make_host):
    assert read_cpu(make_host({"/proc/cpuinfo": "processor\t: 0\nmodel name\t: X\n"})) == Cpu("X", 1, None, None)
