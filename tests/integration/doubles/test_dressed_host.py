# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A booted host that is dressed as a machine with GPUs: what its own programs find there."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator

import pytest

from ansible_collections.blackwell.inference.tests.doubles.nvml.description import HOSTS, load
from ansible_collections.blackwell.inference.tests.testhost import host as hosts
from ansible_collections.blackwell.inference.tests.testhost.image import SUITES
from ansible_collections.blackwell.inference.tests.testhost.site import Site

pytestmark = pytest.mark.testhost

NAME = "rtx-pro-6000-maxq-4x"

LOOK = """
import ctypes, glob, json, os
library = ctypes.CDLL("libnvidia-ml.so.1")
count, text = ctypes.c_uint(), ctypes.create_string_buffer(80)
statuses = [library.nvmlInit_v2(), library.nvmlDeviceGetCount_v2(ctypes.byref(count)), library.nvmlSystemGetDriverVersion(text, 80)]
majors = {int(line.split()[0]) for line in open("/proc/devices") if "nvidia" in line}
nodes = sorted(glob.glob("/dev/nvidia*"))
numbers = [os.stat(path).st_rdev for path in nodes]
holders = [os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY) for path in nodes for _ in range(2)]
print(json.dumps({
    "statuses": statuses, "gpus": count.value, "driver": text.value.decode(),
    "nodes": nodes, "distinct": len(set(numbers)), "known": all(os.major(number) in majors for number in numbers),
    "opened": len(holders), "held": sorted(os.readlink(f"/proc/self/fd/{holder}") for holder in holders[::2]),
    "pci": sorted(os.listdir("/sys/bus/pci/devices")), "modules": sorted(os.listdir("/sys/module")),
    "vendor": open("/sys/class/dmi/id/sys_vendor").read().strip(),
    "groups": len(os.listdir("/sys/kernel/iommu_groups")),
    "memory": open("/proc/meminfo").readline().split()[1], "cpus": os.cpu_count(),
    "information": len(glob.glob("/proc/driver/nvidia/gpus/*/information")),
}))
"""


@pytest.fixture(scope="module", params=SUITES)
def dressed(request: pytest.FixtureRequest, site: Site) -> Iterator[hosts.Host]:
    name = f"dressed-{request.param}-{os.getpid()}"
    host = hosts.up(site, name, request.param, dress=HOSTS / f"{NAME}.json", owner_pid=os.getpid())
    yield host
    hosts.down(host)


def test_a_dressed_host_tells_the_story_of_its_description(dressed: hosts.Host):
    done = subprocess.run(
        [*dressed.ssh, "python3", "-"], input=LOOK, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    described = load(NAME)
    nodes = sorted(
        ["/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidiactl", *(f"/dev/nvidia{n}" for n in range(4))]
    )
    addresses = [gpu["pci"]["address"] for gpu in described["gpus"]]
    assert seen == {
        "statuses": [0, 0, 0],
        "gpus": 4,
        "driver": "580.126.20",
        "nodes": nodes,
        "distinct": len(nodes),
        "known": True,
        "opened": 2 * len(nodes),
        "held": nodes,
        "pci": sorted([*addresses, *(address[:-1] + "1" for address in addresses)]),
        "modules": sorted(described["modules"]),
        "vendor": "ASRock",
        "groups": 4,
        "memory": str(described["numa_nodes"][0]["memory_bytes"] // 1024),
        "cpus": 32,
        "information": 4,
    }


def test_a_dressed_host_is_whole(dressed: hosts.Host):
    done = subprocess.run(
        [*dressed.ssh, "systemctl", "is-system-running", "--wait"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.strip() == "running"
