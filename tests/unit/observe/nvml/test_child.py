# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the program that talks to NVML makes of its answers and refusals, with nvidia-ml-py's own errors and structures."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.nvml.answers import RECOVERY_ACTIONS
from ansible_collections.blackwell.inference.plugins.module_utils.observe.nvml.child import Child, converse


def refuse(code: int):
    def call(*arguments: Any) -> Any:
        raise pynvml.NVMLError(code)

    return call


class Library:
    """nvidia-ml-py whose calls are all unknown to the driver but for those that a test names."""

    def __init__(self, **calls: Any) -> None:
        self.calls = calls

    def __getattr__(self, name: str) -> Any:
        if name in self.calls:
            answer = self.calls[name]
            return answer if callable(answer) else lambda *arguments: answer
        if name.startswith("nvml") and callable(getattr(pynvml, name)):
            return refuse(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return getattr(pynvml, name)

    def __dir__(self) -> list[str]:
        return dir(pynvml)


def gpu(**calls: Any) -> dict[str, Any]:
    return Child(Library(nvmlDeviceGetHandleByIndex="handle", **calls), lambda message: None).gpu(3)


def test_what_a_gpu_does_not_know_is_none_and_no_complaint():
    facts = gpu()
    assert (facts["name"], facts["bar1_total_bytes"], facts["ecc"], facts["nvlinks_active"], facts["fabric"]) == (
        None,
    ) * 5
    assert (facts["numa_node"], facts["cpu_affinity"], facts["silent"]) == (None, None, [])
    assert "failed" not in facts


def test_a_refused_question_is_told_and_the_others_are_answered():
    facts = gpu(nvmlDeviceGetPowerUsage=refuse(pynvml.NVML_ERROR_NO_PERMISSION), nvmlDeviceGetName="RTX")
    assert facts["name"] == "RTX"
    assert [note["what"] for note in facts["silent"]] == ["nvmlDeviceGetPowerUsage"]


def test_a_gpu_lost_half_way_keeps_what_it_told():
    facts = gpu(
        nvmlDeviceGetUUID="GPU-1",
        nvmlDeviceGetSerial=refuse(pynvml.NVML_ERROR_GPU_IS_LOST),
        nvmlDeviceGetEccMode=[1, 1],
    )
    assert (facts["uuid"], facts["failed"]) == ("GPU-1", pynvml.NVML_ERROR_GPU_IS_LOST)
    assert "ecc" not in facts


def test_a_gpu_that_cannot_be_opened():
    library = Library(nvmlDeviceGetHandleByIndex=refuse(pynvml.NVML_ERROR_UNKNOWN))
    assert Child(library, lambda message: None).gpu(0) == {"index": 0, "failed": 999, "silent": []}


def test_memory_of_a_driver_that_tells_the_reserved_part_and_of_one_that_does_not():
    new = SimpleNamespace(total=100, used=10, free=85, reserved=5)
    old = SimpleNamespace(total=100, used=15, free=85)
    assert gpu(nvmlDeviceGetMemoryInfo=lambda handle, version=None: new)["memory_reserved_bytes"] == 5
    only_old = gpu(nvmlDeviceGetMemoryInfo=lambda handle, version=None: refuse(3)() if version else old)
    assert (only_old["memory_used_bytes"], only_old["memory_reserved_bytes"]) == (15, None)


def test_nvlinks_that_are_up_are_counted_to_the_last_that_there_is():
    def state(handle: str, link: int) -> int:
        if link >= 18:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_INVALID_ARGUMENT)
        return 0 if link == 4 else 1

    facts = gpu(nvmlDeviceGetNvLinkState=state)
    assert (facts["nvlinks_active"], facts["silent"]) == (17, [])


@pytest.mark.parametrize(
    ("state", "status", "fabric"),
    [(0, 0, None), (2, 0, {"state": "in_progress", "status": "SUCCESS"}), (3, 999, {"state": "completed", "status": "UNKNOWN"})],
)  # fmt: skip
def test_fabric(state, status, fabric):
    def info(handle: str, pointer: Any) -> int:
        pointer._obj.state, pointer._obj.status = state, status
        return 0

    assert gpu(nvmlDeviceGetGpuFabricInfoV=info)["fabric"] == fabric


@pytest.mark.parametrize(("nodes", "node"), [([0b10], 1), ([0b11], None), ([0], None)])
def test_numa_node_only_when_it_is_one(nodes, node):
    assert gpu(nvmlDeviceGetMemoryAffinity=nodes)["numa_node"] == node


def test_a_conversation_names_each_call_before_it_is_made():
    told: list[dict[str, Any]] = []
    library = Library(
        nvmlInit=None, nvmlDeviceGetCount=1, nvmlDeviceGetHandleByIndex="handle", nvmlDeviceGetName="RTX",
        nvmlSystemGetCudaDriverVersion_v2=13020, nvmlSystemGetDriverVersion=b"595.58.03",
    )  # fmt: skip
    converse(Child(library, told.append), None, rows=True, gpus=True)
    answers = [message for message in told if "asking" not in message]
    assert told[0] == {"asking": "nvmlInit"}
    assert answers[0] == {"driver": {"version": "595.58.03", "nvml_version": None, "cuda_version": "13.2"}, "count": 1}
    assert answers[1]["gpu"]["name"] == "RTX"
    assert answers[2] == {
        "row": {"index": 0, "ancestor": {0: "SELF"}, "p2p_read": {0: "SELF"}, "p2p_write": {0: "SELF"}}
    }
    assert answers[3] == {"done": True}
    before_name = told[: told.index(answers[1])]
    assert {"asking": "nvmlDeviceGetName"} in before_name


def test_a_library_that_does_not_start_still_tells_its_version():
    told: list[dict[str, Any]] = []
    library = Library(
        nvmlInit=refuse(pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH), nvmlSystemGetNVMLVersion="13.595.58.03"
    )
    converse(Child(library, told.append), None, rows=True, gpus=True)
    assert told[-1] == {"refused": 18, "nvml_version": "13.595.58.03"}


# Who uses a GPU


def process(pid: int, used: int | None) -> SimpleNamespace:
    return SimpleNamespace(pid=pid, usedGpuMemory=used)


def use(**calls: Any) -> dict[str, Any]:
    return Child(Library(nvmlDeviceGetHandleByIndex="handle", **calls), lambda message: None).gpu(3, use=True)


def test_use_alone_is_asked_of_a_gpu_and_nothing_else():
    asked: list[dict[str, Any]] = []
    Child(Library(nvmlDeviceGetHandleByIndex="handle"), asked.append).gpu(0, use=True)
    assert [message["asking"] for message in asked] == [
        "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetUUID", "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetMinorNumber", "nvmlDeviceGetFieldValues",
        "nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses", "nvmlDeviceGetMPSComputeRunningProcesses",
        "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetMemoryInfo",
    ]  # fmt: skip


def test_processes_of_all_lists_each_once():
    facts = use(
        nvmlDeviceGetComputeRunningProcesses=[process(9, 5), process(7, None), process(8, None)],
        nvmlDeviceGetGraphicsRunningProcesses=[process(9, 5), process(8, 3)],
        nvmlDeviceGetMPSComputeRunningProcesses=[process(11, 0)],
    )
    assert facts["processes"] == [(7, None), (8, 3), (9, 5), (11, 0)]


@pytest.mark.parametrize(("code", "notes"), [(3, 0), (4, 1)])
def test_no_list_is_not_an_empty_list(code, notes):
    facts = use(nvmlDeviceGetComputeRunningProcesses=refuse(code), nvmlDeviceGetGraphicsRunningProcesses=[])
    assert (facts["processes"], len(facts["silent"])) == (None, notes)


@pytest.mark.parametrize(("times", "expected"), [(3, [(7, 1)]), (4, None)])
def test_a_list_that_grows_while_it_is_read_is_read_again(times, expected):
    left = [times]

    def listing(handle: str) -> list[SimpleNamespace]:
        left[0] -= 1
        if left[0] >= 0:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_INSUFFICIENT_SIZE)
        return [process(7, 1)]

    facts = use(nvmlDeviceGetComputeRunningProcesses=listing)
    assert (facts["processes"], bool(facts["silent"])) == (expected, expected is None)


@pytest.mark.parametrize(
    ("number", "returned", "action"),
    [
        (0, 0, "none"), (1, 0, "gpu_reset"), (2, 0, "node_reboot"), (3, 0, "drain_p2p"), (4, 0, "drain_and_reset"), (5, 0, "recover_imex"),
        (6, 0, "bus_reset"), (7, 0, "system_reboot"), (8, 0, "8"), (0, pynvml.NVML_ERROR_NOT_SUPPORTED, None),
    ],
)  # fmt: skip
def test_recovery_action(number, returned, action):
    field = SimpleNamespace(nvmlReturn=returned, value=SimpleNamespace(uiVal=number))
    assert use(nvmlDeviceGetFieldValues=[field])["recovery_action"] == action


def test_a_library_that_knows_no_fields_tells_no_recovery_action():
    assert use(nvmlDeviceGetFieldValues=refuse(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND))["recovery_action"] is None


def test_numbers_of_the_recovery_actions_are_those_of_the_package():
    assert pynvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION == 230
    names = {getattr(pynvml, name): name for name in dir(pynvml) if name.startswith("NVML_GPU_RECOVERY_ACTION_")}
    words = {number: name.removeprefix("NVML_GPU_RECOVERY_ACTION_").lower() for number, name in names.items()}
    assert words == {**RECOVERY_ACTIONS, 5: "recover_imex_domain"}
