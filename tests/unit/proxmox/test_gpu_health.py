# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps a GPU from being free that nobody holds, and how it is reset."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.files import HostFiles
from ansible_collections.blackwell.inference.plugins.module_utils.observe.kernel_log import KernelEntry, KernelLog
from ansible_collections.blackwell.inference.plugins.module_utils.proxmox import gpu_health
from ansible_collections.blackwell.inference.plugins.module_utils.proxmox.commands import Ran
from ansible_collections.blackwell.inference.plugins.module_utils.proxmox.gpu_health import (
    faults_of,
    gave_up,
    memory_faults,
    reset_command,
)
from ansible_collections.blackwell.inference.tests.unit.proxmox.holders_of_guests import DRIVEN, PASSED

ADDRESS = "0000:01:00.0"
UNREAD = f"The memory of GPU {ADDRESS} could not be read: nvidia-smi "


@pytest.mark.parametrize(
    ("ran", "fault"),
    [
        (Ran(0, "00000000:01:00.0, 600, 32607\n", ""), None),
        (
            Ran(0, "00000000:01:00.0, 601, 32607\n", ""),
            f"601 MiB of GPU {ADDRESS} are in use, and no process of this host has it open.",
        ),
        (Ran(0, "00000000:01:00.0, 978, 97887\n", ""), None),
        (Ran(0, "00000000:01:00.0, [GPU is lost], [GPU is lost]\n", ""), f"{UNREAD}shows [GPU is lost]."),
        (Ran(0, "00000000:02:00.0, 0, 97887\n", ""), f"{UNREAD}does not list it."),
        (Ran(9, "", "NVIDIA-SMI has failed\n"), f'{UNREAD}ended with 9 and said "NVIDIA-SMI has failed".'),
        (Ran(None, "", ""), f"{UNREAD}did not end in time."),
    ],
)
def test_memory(ran, fault):
    assert memory_faults(ran, [ADDRESS]) == ({ADDRESS: fault} if fault else {})


def device(tmp_path, address, **files):
    home = tmp_path / "sys/bus/pci/devices" / address
    home.mkdir(parents=True)
    for name, content in files.items():
        (home / name).write_bytes(content)
    return HostFiles(str(tmp_path))


def test_a_card_that_reads_as_ones_is_not_asked_for_more(tmp_path):
    files = device(tmp_path, ADDRESS, config=b"\xff\xff\xff\xff")
    assert faults_of(files, lambda command, seconds: pytest.fail("was asked"), [DRIVEN]) == {
        ADDRESS: f"GPU {ADDRESS} does not answer on the PCI bus."
    }


def test_a_card_without_the_driver_has_no_memory_to_ask_for(tmp_path):
    files = device(tmp_path, PASSED.address, config=b"\xde\x10")
    assert faults_of(files, lambda command, seconds: pytest.fail("was asked"), [PASSED]) == {}


def test_the_driver_resets_what_it_has(tmp_path):
    assert reset_command(HostFiles(str(tmp_path)), DRIVEN) == ("nvidia-smi", "--gpu-reset", "-i", ADDRESS)


@pytest.mark.parametrize(
    "files", [{}, {"reset": b""}, {"reset_method": b"flr\n"}, {"reset": b"", "reset_method": b"\n"}]
)
def test_no_way_to_reset(tmp_path, files):
    assert reset_command(device(tmp_path, PASSED.address, **files), PASSED) is None


def test_the_kernel_resets_by_the_ways_that_it_lists(tmp_path):
    files = device(tmp_path, PASSED.address, reset=b"", reset_method=b"flr bus\n")
    assert reset_command(files, PASSED)[-1] == files.path(f"/sys/bus/pci/devices/{PASSED.address}/reset")


@pytest.mark.parametrize(
    ("message", "terminal"),
    [
        ("vfio-pci 0000:03:00.0: not ready 65535ms after FLR; giving up", True),
        ("vfio-pci 0000:03:00.0: not ready 65535ms after bus reset; giving up", True),
        ("vfio-pci 0000:03:00.0: not ready 1023ms after FLR; waiting", False),
        ("vfio-pci 0000:09:00.0: not ready 65535ms after FLR; giving up", False),
    ],
)
def test_the_line_that_ends_all_hope(monkeypatch, message, terminal):
    asked = []

    def log(since):
        asked.append(since)
        return KernelLog(True, since, (KernelEntry(1.0, message),))

    monkeypatch.setattr(gpu_health, "read_kernel_log", log)
    assert gave_up(["0000:03:00.0"], 1796010000.4) == (message if terminal else None)
    assert asked == ["@1796010000"]
