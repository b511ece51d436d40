# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of a conversation with NVML that ends well, breaks off, or never starts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.files import Unread
from ansible_collections.blackwell.inference.plugins.module_utils.observe.nvml import gpus
from ansible_collections.blackwell.inference.plugins.module_utils.observe.nvml.session import NvmlReply, NvmlRequest

DRIVER = {"version": "595.58.03", "nvml_version": "13.595.58.03", "cuda_version": "13.2"}
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  595.58.03  Release Build  (dvs-builder@U22-I3-AM25-28-3)\nGCC version:\n"
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023\n"
ASK = "nvmlDeviceGetName"
KERNEL_LOG = "Look for NVRM or Xid in the kernel log"


def facts(index: int, **more: object) -> dict[str, object]:
    return {"index": index, "name": f"GPU {index}", "silent": [], **more}


def row(index: int, others: list[int]) -> dict[str, object]:
    names = {str(other): "SELF" if other == index else "PIX" for other in others}
    oks = {str(other): "SELF" if other == index else "OK" for other in others}
    return {"index": index, "ancestor": names, "p2p_read": oks, "p2p_write": oks}


def told(count: int, gpus: list[int], rows: list[int] | None = None, **more: object) -> NvmlReply:
    return NvmlReply(
        driver=DRIVER,
        count=count,
        gpus={index: facts(index) for index in gpus},
        rows={index: row(index, rows or []) for index in rows or []},
        **more,
    )


@pytest.fixture
def read(make_host, monkeypatch):
    """Reads NVML where `answer` says what is heard for each request; the requests made are kept in `read.requests`."""

    def reading(
        answer: Callable[[NvmlRequest], NvmlReply], files: dict[str, str] | None = None, library: str | None = None
    ):
        requests: list[NvmlRequest] = []

        class Scripted:
            def __init__(self, request: NvmlRequest, timeout_seconds: float) -> None:
                requests.append(request)
                self.request = request

            def hear(self, total_seconds: float | None = None) -> NvmlReply:
                return answer(self.request)

        monkeypatch.setattr(gpus, "NvmlSession", Scripted)
        reading.requests = requests
        return gpus.ChildNvmlReader(make_host(files), library, 20).read()

    return reading


def test_all_is_well_in_one_conversation(read):
    seen = read(lambda request: told(2, [0, 1], rows=[0, 1], done=True), {"/proc/driver/nvidia/version": OPEN})
    assert read.requests == [NvmlRequest(None)]
    assert seen.driver == gpus.Driver(**DRIVER, kernel_module_version="595.58.03", kernel_module_open=True)
    assert [(gpu.index, gpu.state, gpu.name) for gpu in seen.gpus] == [(0, "ok", "GPU 0"), (1, "ok", "GPU 1")]
    assert seen.interconnect == gpus.Interconnect(
        ancestor=[["SELF", "PIX"], ["PIX", "SELF"]],
        p2p_read=[["SELF", "OK"], ["OK", "SELF"]],
        p2p_write=[["SELF", "OK"], ["OK", "SELF"]],
    )
    assert seen.unread == ()


def test_a_gpu_that_hangs_costs_no_other_gpu_its_facts(read):
    def answer(request: NvmlRequest) -> NvmlReply:
        if request.only is None:
            return told(4, [0], asking=ASK, silent_seconds=20.0)
        if request.gpus:
            return told(4, request.only, done=True)
        return told(4, [], rows=request.only, done=True)

    seen = read(answer)
    assert read.requests == [
        NvmlRequest(None),
        NvmlRequest(None, only=[2], rows=False),
        NvmlRequest(None, only=[3], rows=False),
        NvmlRequest(None, only=[0, 2, 3], gpus=False),
    ]
    assert [gpu.state for gpu in seen.gpus] == ["ok", "timeout", "ok", "ok"]
    assert seen.gpus[1].error == (
        f"GPU 1 told nothing: {ASK} did not return within 20 seconds. {KERNEL_LOG}; a hung GPU needs a reset or a reboot of the host."
    )
    assert seen.interconnect.ancestor == [
        ["SELF", None, "PIX", "PIX"],
        [None, None, None, None],
        ["PIX", None, "SELF", "PIX"],
        ["PIX", None, "PIX", "SELF"],
    ]


def test_several_hung_gpus(read):
    def answer(request: NvmlRequest) -> NvmlReply:
        if request.only is None or set(request.only) & {1, 2}:
            return told(4, [0] if request.only is None else [], asking=ASK, silent_seconds=20.0)
        return told(4, request.only if request.gpus else [], rows=request.only, done=True)

    assert [gpu.state for gpu in read(answer).gpus] == ["ok", "timeout", "timeout", "ok"]


def test_gpus_that_are_only_slow_together_are_asked_again_one_by_one(read):
    """The whole took too long although each answered in time: nobody is a suspect."""

    def answer(request: NvmlRequest) -> NvmlReply:
        if request.only is None:
            return told(3, [0, 1], asking=ASK, silent_seconds=3.0)
        return told(3, request.only if request.gpus else [], rows=request.only, done=True)

    assert [gpu.state for gpu in read(answer).gpus] == ["ok", "ok", "ok"]


def test_a_gpu_that_takes_its_process_down_is_an_error(read):
    def answer(request: NvmlRequest) -> NvmlReply:
        if request.only is None:
            return told(2, [0], asking=ASK, ended="was ended by signal 11")
        return told(2, [], rows=request.only, done=True)

    seen = read(answer)
    assert [gpu.state for gpu in seen.gpus] == ["ok", "error"]
    assert seen.gpus[1].error == (f"GPU 1 told nothing: its process was ended by signal 11 in {ASK}. {KERNEL_LOG}.")


@pytest.mark.parametrize(
    ("failed", "state", "error"),
    [
        (
            15,
            "lost",
            "GPU 0 is lost: it fell off the bus. Look for Xid 79 in the kernel log; a reboot or power cycle of the host brings it back.",
        ),
        (16, "lost", "GPU 0 answers nothing until it is reset: stop what uses it and reset it, or reboot the host."),
        (999, "error", "GPU 0 could not be read: NVML answered with error 999."),
    ],
)
def test_a_gpu_that_nvml_gives_up(read, failed, state, error):
    heard = told(1, [], done=True)
    heard.gpus[0] = facts(0, failed=failed)
    gpu = read(lambda request: heard).gpus[0]
    assert (gpu.state, gpu.error, gpu.name) == (state, error, "GPU 0")  # what was learnt before stays


def test_an_interconnect_that_breaks_off_is_noted_and_what_was_told_is_kept(read):
    seen = read(lambda request: told(2, [0, 1], rows=[0], asking="nvmlDeviceGetP2PStatus", silent_seconds=20.0))
    assert [gpu.state for gpu in seen.gpus] == ["ok", "ok"]
    assert seen.unread == (Unread("interconnect", "nvmlDeviceGetP2PStatus did not return within 20 seconds"),)
    assert seen.interconnect.ancestor == [["SELF", None], [None, None]]


def test_a_refused_question_is_noted(read):
    heard = told(1, [], done=True)
    heard.gpus[0] = facts(0, silent=[{"what": "nvmlDeviceGetPowerUsage", "why": "Insufficient Permissions"}])
    assert read(lambda request: heard).unread == (
        Unread("nvmlDeviceGetPowerUsage of GPU 0", "Insufficient Permissions"),
    )


NO_PERMISSION = "NVML may not open the driver's device nodes (no permission): run as root, or give this user access to /dev/nvidiactl and /dev/nvidia*."
NOT_LOADED = "The NVIDIA kernel module is not loaded: load it with `modprobe nvidia`, or install the driver; in a container its host must load it."
MISMATCH = (
    "The NVIDIA library is of version {library} and the loaded kernel module of version {module}: they must be the same. "
    "After a driver upgrade reload the module or reboot; in a container install the host's driver version."
)
UNKNOWN = "NVML could not start (unknown error): look for NVRM or Xid in the kernel log; in a container check that it may use /dev/nvidiactl."


@pytest.mark.parametrize(
    ("heard", "library", "version", "error"),
    [
        (NvmlReply(refused=4), None, "", NO_PERMISSION),
        (NvmlReply(refused=9), None, "", NOT_LOADED),
        (
            NvmlReply(refused=12),
            None,
            "",
            "The NVIDIA library libnvidia-ml.so.1 was not found: install the NVIDIA driver, or name the library with nvml_library.",
        ),
        (NvmlReply(refused=18, nvml_version="13.595.58.03"), None, OPEN.replace("595.58", "580.95"), MISMATCH.format(library="595.58.03", module="580.95.03")),
        (NvmlReply(refused=18), None, "", MISMATCH.format(library="unknown", module="unknown")),
        (NvmlReply(refused=999), None, "", UNKNOWN),
        (NvmlReply(refused=7), None, "", "NVML could not start: it answered with error 7."),
        (
            NvmlReply(unloadable="/x: invalid ELF header"),
            "/x",
            "",
            "The NVIDIA library /x could not be loaded: /x: invalid ELF header. Name a library for this machine with nvml_library.",
        ),
        (
            NvmlReply(asking="nvmlInit", silent_seconds=20.0),
            None,
            "",
            f"NVML told nothing: nvmlInit did not return within 20 seconds. {KERNEL_LOG}; a hung driver needs a reboot of the host.",
        ),
        (
            NvmlReply(ended="ended with exit status 1"),
            None,
            "",
            f"NVML told nothing: its process ended with exit status 1 before it asked anything. {KERNEL_LOG}.",
        ),
    ],
)  # fmt: skip
def test_a_driver_that_does_not_answer_is_a_fact(read, heard, library, version, error):
    seen = read(lambda request: heard, {"/proc/driver/nvidia/version": version}, library)
    assert (seen.gpus, seen.driver.error) == ((), error)
    assert seen.interconnect == gpus.Interconnect([], [], [])


def test_a_driver_without_gpus_is_a_fact(read):
    assert read(lambda request: told(0, [], done=True)).driver.error == (
        "NVML runs but shows no GPU: expected at least one. Blackwell GPUs need the open kernel modules, "
        "and a container or VM sees only the GPUs that were given to it."
    )


@pytest.mark.parametrize(
    ("files", "version", "is_open"),
    [
        ({"/proc/driver/nvidia/version": OPEN}, "595.58.03", True),
        ({"/proc/driver/nvidia/version": CLOSED}, "535.54.03", False),
        ({"/sys/module/nvidia/version": "620.10\n"}, "620.10", None),
        ({}, None, None),
    ],
)
def test_the_kernel_module(make_host, files, version, is_open):
    driver = gpus.read_kernel_module(make_host(files))
    assert (driver.kernel_module_version, driver.kernel_module_open) == (version, is_open)
