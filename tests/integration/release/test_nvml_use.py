# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Use and proof of release as the real bindings read them from the described machine, in front of what a driver can do."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.files import HostFiles
from ansible_collections.blackwell.inference.plugins.module_utils.observe.nvml.usage import UseReading, read_use
from ansible_collections.blackwell.inference.plugins.module_utils.release.advice import Visibility
from ansible_collections.blackwell.inference.plugins.module_utils.release.occupancy import Occupancy
from ansible_collections.blackwell.inference.plugins.module_utils.release.proof import Proof, prove_free
from ansible_collections.blackwell.inference.tests.doubles.companions import DIES_WITH_US
from ansible_collections.blackwell.inference.tests.doubles.nvml.build import build
from ansible_collections.blackwell.inference.tests.doubles.nvml.description import load

GIB, IDLE = 2**30, 600 * 2**20
METAL, LXC = Visibility(True, True, "bare_metal", False), Visibility(True, False, "lxc", True)
READS = (
    "nvmlInit", "nvmlSystemGet", "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetUUID", "nvmlDeviceGetPciInfo",
    "nvmlDeviceGetMinorNumber", "nvmlDeviceGetFieldValues", "nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses",
    "nvmlDeviceGetMPSComputeRunningProcesses", "nvmlDeviceGetMemoryInfo", "nvmlErrorString",
)  # fmt: skip


class Machine:
    def __init__(self, folder: Path) -> None:
        self.content: dict[str, Any] = copy.deepcopy(dict(load("rtx-pro-6000-server-8x")))
        self.content["process_directory"] = None
        self.path, self.calls = folder / "machine.json", folder / "calls"
        self.card = folder / "sys/bus/pci/devices/0000:01:00.0"
        self.card.mkdir(parents=True)
        for name, text in (("vendor", "0x10de"), ("device", "0x2bb5"), ("class", "0x030200")):
            (self.card / name).write_text(text)

    def gpu(self, index: int, **values: Any) -> None:
        self.content["gpus"][index].update(values)

    def fault(self, function: str, **values: Any) -> None:
        self.content.setdefault("faults", []).append({"function": function, **values})

    def read(self, timeout_seconds: float = 20, library: str | None = None) -> UseReading:
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(self.content), encoding="utf-8")
        fresh.replace(self.path)
        return read_use(HostFiles(str(self.path.parent)), library or str(build()), timeout_seconds)

    def proof(self, visibility: Visibility = METAL, claims: tuple[Occupancy, ...] = (), **options: Any) -> Proof:
        return prove_free(self.read(**options), range(8), claims, visibility, IDLE)

    def states(self, **options: Any) -> list[str]:
        return [gpu.state for gpu in self.proof(**options).gpus]


@pytest.fixture
def machine(tmp_path, monkeypatch) -> Machine:
    made = Machine(tmp_path)
    monkeypatch.setenv("FAKE_NVML", str(made.path))
    monkeypatch.setenv("FAKE_NVML_LOG", str(made.calls))
    return made


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([*DIES_WITH_US, sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def test_free_gpus(machine):
    reading = machine.read()
    assert machine.proof().state == "released"
    assert reading.unread == ()
    assert [(gpu.index, gpu.device, gpu.pci_address) for gpu in reading.gpus][:2] == [
        (0, "nvidia2", "0000:06:00.0"), (1, "nvidia3", machine.content["gpus"][1]["pci"]["address"]),
    ]  # fmt: skip
    first = reading.gpus[0]
    assert (first.memory_used_bytes, first.memory_reserved_bytes, first.processes, first.recovery_action) == (
        0,
        666370048,
        {},
        "none",
    )


def test_nothing_is_ever_changed_and_only_what_is_needed_is_asked(machine):
    machine.read()
    calls = {line.split()[1] for line in machine.calls.read_text().splitlines()}
    assert "nvmlDeviceGetHandleByIndex_v2" in calls
    assert sorted(call for call in calls if not call.startswith(READS)) == []


def test_a_process_holds_until_it_has_ended(machine, victim):
    machine.gpu(3, processes=[{"pid": victim.pid, "used_bytes": 72 * GIB, "live": True}])
    claim = Occupancy(victim.pid, "python3", frozenset({3}), True, memory={3: 72 * GIB})
    assert machine.read().gpus[3].processes == {victim.pid: 72 * GIB}
    held = machine.proof(claims=(claim,))
    assert (held.state, held.why) == (
        "held",
        f"GPU 3 has 72.0 GiB in use and is held by process {victim.pid} (python3).",
    )
    victim.kill()
    victim.wait()
    assert machine.proof().state == "released"


@pytest.mark.parametrize(("visibility", "state"), [(METAL, "needs_reset"), (LXC, "held_by_unseen")])
def test_memory_of_nobody(machine, visibility, state):
    machine.gpu(1, processes=[{"pid": os.getpid(), "used_bytes": 40 * GIB, "hidden": True}])
    assert machine.states(visibility=visibility) == ["released", state] + ["released"] * 6
    gpu = machine.proof(visibility=visibility).gpus[1].as_dict()
    assert (gpu["memory_used_bytes"], gpu["memory_seen_bytes"], gpu["memory_unseen_bytes"]) == (40 * GIB, 0, 40 * GIB)


def test_lists_of_all_kinds_and_memory_that_is_not_told(machine):
    kinds = [(11, 5, "compute"), (12, None, "graphics"), (13, 7, "mps")]
    machine.gpu(0, processes=[{"pid": pid, "used_bytes": used, "kind": kind} for pid, used, kind in kinds])
    assert machine.read().gpus[0].processes == {11: 5, 12: None, 13: 7}


def test_a_driver_without_lists(machine):
    machine.gpu(0, processes=None)
    machine.gpu(1, processes="!NO_PERMISSION")
    reading = machine.read()
    assert [gpu.processes for gpu in reading.gpus[:3]] == [None, None, {}]
    assert {note.what for note in reading.unread} == {
        f"nvmlDeviceGet{kind}RunningProcesses of GPU 1" for kind in ("Compute", "Graphics", "MPSCompute")
    }


def test_a_process_that_starts_between_the_questions(machine):
    machine.gpu(0, processes=[{"pid": 11, "used_bytes": 5}])
    # The first call is answered so by itself; then the second, which has room for what the first told.
    machine.fault("nvmlDeviceGetComputeRunningProcesses*", gpu=0, **{"return": "INSUFFICIENT_SIZE"}, after=1, times=1)
    assert machine.read().gpus[0].processes == {11: 5}


def test_a_driver_that_does_not_tell_its_own_part(machine):
    machine.fault("nvmlDeviceGetMemoryInfo_v2", **{"return": "FUNCTION_NOT_FOUND"})
    first = machine.read().gpus[0]
    assert (first.memory_used_bytes, first.memory_reserved_bytes) == (666370048, None)
    assert machine.proof().state == "released"


@pytest.mark.parametrize(
    ("number", "action", "state"),
    [
        (1, "gpu_reset", "needs_reset"),
        (2, "node_reboot", "needs_reboot"),
        (6, "bus_reset", "needs_reset"),
        (None, None, "released"),
    ],
)
def test_recovery_action(machine, number, action, state):
    machine.gpu(5, recovery_action=number)
    assert machine.read().gpus[5].recovery_action == action
    assert machine.states()[5] == state


@pytest.mark.parametrize(
    ("fault", "state"), [("GPU_IS_LOST", "needs_reboot"), ("RESET_REQUIRED", "needs_reset"), ("UNKNOWN", "unproven")]
)
def test_a_gpu_that_does_not_answer_says_nothing_of_the_others(machine, fault, state):
    if fault == "UNKNOWN":
        machine.fault("nvmlDeviceGetHandleByIndex*", gpu=2, **{"return": fault})
    else:
        machine.gpu(2, state=fault)
    assert machine.states() == ["released"] * 2 + [state] + ["released"] * 5


def test_a_gpu_that_hangs_wants_a_reboot_and_the_others_are_read(machine):
    machine.fault("nvmlDeviceGetMemoryInfo*", gpu=3, delay_ms=60000)
    assert machine.states(timeout_seconds=2) == ["released"] * 3 + ["needs_reboot"] + ["released"] * 4
    pids = {int(line.split()[0]) for line in machine.calls.read_text().splitlines()}
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []


def test_a_driver_that_hangs_as_a_whole(machine):
    machine.fault("nvmlInit*", delay_ms=60000)
    proof = machine.proof(timeout_seconds=1)
    assert (proof.state, proof.gpus) == ("needs_reboot", ())
    assert proof.why.startswith("NVML told nothing: nvmlInit did not return within 1 seconds.")


def test_a_library_of_another_version_than_the_module(machine):
    machine.content["driver"]["kernel_module_version"] = "590.48.01"
    proof = machine.proof()
    assert (proof.state, proof.next_step) == (
        "unproven",
        "Reload the NVIDIA kernel module, or reboot this machine, then look again.",
    )
    assert proof.why.startswith("The NVIDIA library is of version 595.58.03 and the loaded kernel module of version")


def test_a_library_that_is_not_there(machine):
    assert machine.proof(library="/nowhere/libnvidia-ml.so.1").state == "unproven"


def test_a_machine_without_a_card_has_nothing_to_release(machine):
    (machine.card / "vendor").write_text("0x1234")
    proof = machine.proof(library="/nonexistent/libnvidia-ml.so.1")
    assert (proof.state, proof.why, proof.next_step) == (
        "unproven",
        "Neither a card of NVIDIA nor its driver shows on this machine, so nothing can hold a GPU.",
        "Run this on the machine that has the cards.",
    )
