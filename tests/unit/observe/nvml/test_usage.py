# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which GPUs a name means, and what becomes of a reading that nothing answered."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import ObservationError
from ansible_collections.blackwell.inference.plugins.module_utils.observe.files import Unread
from ansible_collections.blackwell.inference.plugins.module_utils.observe.nvml import usage
from ansible_collections.blackwell.inference.plugins.module_utils.observe.nvml.session import NvmlReply, NvmlRequest
from ansible_collections.blackwell.inference.plugins.module_utils.observe.nvml.usage import (
    GpuUse,
    UseReading,
    read_use,
    select_gpus,
)

GPUS = (
    GpuUse(0, uuid="GPU-5e1f0001-7600", pci_address="0000:06:00.0"),
    GpuUse(1, uuid="GPU-5e1f0002-7600", pci_address="0000:f4:00.0"),
    GpuUse(2, "lost"),
    GpuUse(3, uuid="GPU-5e1f0004-7600", pci_address="0001:06:00.0"),
)
THERE = "0 (GPU-5e1f0001-7600, 0000:06:00.0), 1 (GPU-5e1f0002-7600, 0000:f4:00.0), 2 (lost), 3 (GPU-5e1f0004-7600, 0001:06:00.0)"


@pytest.mark.parametrize(
    ("wanted", "indices"),
    [
        ([], (0, 1, 2, 3)),
        (["3", "0"], (0, 3)),
        (["0", "0", " 0", "06:00.0"], (0,)),
        (["GPU-5e1f0002-7600"], (1,)),
        (["gpu-5E1F0004"], (3,)),
        (["0000:F4:00.0"], (1,)),
        (["00000000:F4:00.0"], (1,)),
        (["f4:00.0"], (1,)),
        (["1:06:00.0"], (3,)),
        (["2"], (2,)),
    ],
)
def test_selected(wanted, indices):
    assert select_gpus(GPUS, wanted) == indices


@pytest.mark.parametrize("name", ["4", "-1", "GPU-9", "0000:07:00.0", "cuda:0", "all", "", "MIG-5e1f", "x:06:00.0"])
def test_a_name_of_no_gpu(name):
    with pytest.raises(ObservationError) as refused:
        select_gpus(GPUS, ["0", name])
    assert str(refused.value) == (
        f"There is no GPU {name!r}: an index, a UUID or its beginning, or a PCI address of these was expected in gpus: {THERE}."
    )


def test_a_beginning_of_several_uuids():
    with pytest.raises(ObservationError) as refused:
        select_gpus(GPUS, ["GPU-5e1f"])
    assert (
        str(refused.value)
        == f"'GPU-5e1f' in gpus is the beginning of 3 UUIDs: one was expected. There are these GPUs: {THERE}."
    )


def test_a_host_without_gpus_has_none_to_select():
    with pytest.raises(ObservationError) as refused:
        select_gpus((), ["0"])
    assert str(refused.value).endswith("was expected in gpus: none.")


@pytest.fixture
def read(make_host, monkeypatch):
    def reading(answer, files: dict[str, str] | None = None) -> UseReading:
        class Scripted:
            def __init__(self, request: NvmlRequest, timeout_seconds: float) -> None:
                self.request = request

            def hear(self, total_seconds: float | None = None) -> NvmlReply:
                return answer(self.request)

        monkeypatch.setattr(usage, "NvmlSession", Scripted)
        return read_use(make_host(files), None, 20)

    return reading


def told(*gpus: dict[str, object], count: int | None = None, **more: object) -> NvmlReply:
    return NvmlReply(
        driver={}, count=len(gpus) if count is None else count, gpus={gpu["index"]: gpu for gpu in gpus}, **more
    )


def test_only_use_is_asked_for(read):
    asked = []
    read(lambda request: asked.append(request) or told({"index": 0, "silent": []}, done=True))
    assert asked == [NvmlRequest(None, rows=False, use=True)]


def test_pairs_become_a_dictionary_and_an_unknown_list_stays_unknown(read):
    facts = {
        "silent": [{"what": "nvmlDeviceGetFieldValues", "why": "No permission"}],
        "recovery_action": "none",
        "minor": 2,
    }
    reading = read(
        lambda request: told(
            {"index": 0, "processes": [[7, 5], [8, None]], **facts}, {"index": 1, "processes": None}, done=True
        )
    )
    assert reading == UseReading(
        gpus=(GpuUse(0, minor=2, processes={7: 5, 8: None}, recovery_action="none"), GpuUse(1)),
        unread=(Unread("nvmlDeviceGetFieldValues of GPU 0", "No permission"),),
    )


@pytest.mark.parametrize(("refused", "state"), [(15, "lost"), (16, "lost"), (999, "error")])
def test_a_gpu_that_breaks_off_keeps_what_it_told(read, refused, state):
    reading = read(lambda request: told({"index": 0, "uuid": "GPU-1", "failed": refused, "silent": []}, done=True))
    assert [(gpu.state, gpu.refused, gpu.uuid) for gpu in reading.gpus] == [(state, refused, "GPU-1")]


def test_a_gpu_that_hangs_costs_no_other_its_use(read):
    def answer(request: NvmlRequest) -> NvmlReply:
        if request.only is None:
            return told({"index": 0}, count=3, asking="nvmlDeviceGetFieldValues", silent_seconds=20.0)
        return told({"index": request.only[0], "processes": []}, done=True)

    reading = read(answer)
    assert [(gpu.index, gpu.state, gpu.processes) for gpu in reading.gpus] == [
        (0, "ok", None),
        (1, "timeout", None),
        (2, "ok", {}),
    ]
    assert reading.gpus[1].error == (
        "GPU 1 told nothing: nvmlDeviceGetFieldValues did not return within 20 seconds. "
        "Look for NVRM or Xid in the kernel log; a hung GPU needs a reset or a reboot of the host."
    )


@pytest.mark.parametrize(
    ("heard", "hung", "refused", "beginning"),
    [
        (
            NvmlReply(refused=18, nvml_version="13.595.58.03"), False, 18,
            "The NVIDIA library is of version 595.58.03 and the loaded kernel module of version 595.45.04:",
        ),
        (NvmlReply(refused=9), False, 9, "The NVIDIA kernel module is not loaded:"),
        (NvmlReply(asking="nvmlInit", silent_seconds=20.0), True, None, "NVML told nothing: nvmlInit did not return within 20 seconds."),
        (NvmlReply(asking="nvmlInit", ended="was ended by signal 11"), False, None, "NVML told nothing: its process was ended by signal 11 in nvmlInit."),
        (NvmlReply(driver={}, count=0, done=True), False, None, "NVML runs but shows no GPU:"),
    ],
)  # fmt: skip
def test_why_nothing_is_known(read, heard, hung, refused, beginning):
    reading = read(lambda request: heard, {"/sys/module/nvidia/version": "595.45.04"})
    assert (reading.driver_hung, reading.refused, reading.gpus) == (hung, refused, ())
    assert reading.driver_error.startswith(beginning)


def test_a_machine_without_card_and_driver_has_none(read):
    for heard in (NvmlReply(refused=9), NvmlReply(unloadable="no such file"), NvmlReply(driver={}, count=0, done=True)):
        assert read(lambda request, told=heard: told, {}).absent
    assert not read(lambda request: NvmlReply(asking="nvmlInit", silent_seconds=20.0), {}).absent
