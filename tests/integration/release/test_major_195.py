# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Holders of devices with the driver's own numbers, on a kernel that lists them as the driver's.

Elsewhere nodes borrow the numbers of harmless devices. All is done by one command, major_195.py, as each takes seconds there; NVML is absent.
"""

from __future__ import annotations

import io
import json
import signal
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.holders.gpu_nodes import MAJOR, GpuNodes
from ansible_collections.blackwell.inference.tests.doubles.holders.build import build
from ansible_collections.blackwell.inference.tests.testhost.vm import Vm

pytestmark = pytest.mark.vm

COLLECTION = Path("ansible_collections/blackwell/inference")
ROOT = Path(__file__).parents[3]
PROGRAM = "tests/integration/release/major_195.py"
BROUGHT = ("plugins/module_utils", "tests/doubles/cuse.py", PROGRAM)
SECONDS = 120
PLAY = f"""
directory=$(mktemp -d /var/tmp/major-195.XXXXXX) && trap 'rm -r "$directory"' EXIT && chmod 0755 "$directory" &&
tar -xC "$directory" && cd "$directory" &&
PYTHONPATH=$directory timeout {SECONDS} python3 -m {".".join([*COLLECTION.parts, *Path(PROGRAM).with_suffix("").parts])} "$directory/holder" "$directory"
"""
OPEN = ["descriptor"]


def sources(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if member.name.endswith("/__pycache__") else member


def brought() -> bytes:
    """As Python finds it below a directory, and the program that holds nodes. Compiled files stay: they are for this machine's Python."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in BROUGHT:
            archive.add(ROOT / name, str(COLLECTION / name), filter=sources)
        archive.add(build(), "holder")
    return packed.getvalue()


@pytest.fixture(scope="module")
def played(vm: Vm) -> dict[str, Any]:
    done = subprocess.run([*vm.ssh, PLAY], input=brought(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    if told is None:
        pytest.skip("The kernel of the virtual machine has no CUSE (modprobe cuse brings no /dev/cuse).")
    return told


def test_the_kernel_lists_the_majors_as_the_drivers(played):
    uvm = played["uvm_major"]
    listed = {line.strip() for line in played["characters"]}
    assert {"195 nvidia0", "195 nvidia1", "195 nvidiactl", f"{uvm} nvidia-uvm"} <= listed
    nodes = GpuNodes.from_json(played["nodes"])
    assert nodes.families == {MAJOR: "nvidia0", uvm: "nvidia-uvm"}
    assert nodes.names == {(MAJOR, 0): "nvidia0", (MAJOR, 255): "nvidiactl", (uvm, 0): "nvidia-uvm"}


def test_holders_are_found_by_the_number_whatever_the_path(played):
    assert {name: holder["devices"] for name, holder in played["holders"].items()} == {
        "ours": {"nvidia0": OPEN, "nvidia-uvm": OPEN, "nvidiactl": OPEN},
        "ours, no node in /dev": {"nvidia1": OPEN},
        "another user's, other path": {"nvidia0": OPEN, "nvidiactl": OPEN},
    }


def test_only_ours_are_ended(played):
    ended = {
        name: (holder["owner"], holder["outcome"], holder["signals"]) for name, holder in played["holders"].items()
    }
    assert ended == {
        "ours": ("ours", "exited", ["TERM"]),
        "ours, no node in /dev": ("ours", "exited", ["TERM"]),
        "another user's, other path": ("not_ours", "not_ours", []),
    }
    assert played["ended_by"] == {
        "ours": -signal.SIGTERM,
        "ours, no node in /dev": -signal.SIGTERM,
        "another user's, other path": None,
        "ours, no GPU": None,
    }


def test_nothing_is_proven_without_nvml(played):
    assert (played["state"], played["gpus"]) == ("unproven", [])
