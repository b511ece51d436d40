# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory of a real GPU, held and released. Needs root, and a GPU that nobody uses.

The calls are those of the CUDA driver API's documentation: cuInit, cuDeviceGetByPCIBusId, cuCtxCreate_v2 and cuMemAlloc_v2, whose versions libcuda
exports since CUDA 3.2.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ansible_collections.blackwell.inference.tests.doubles.companions import DIES_WITH_US
from ansible_collections.blackwell.inference.tests.integration.ad_hoc import ansible, result_of

pytestmark = pytest.mark.gpu

GIB = 1 << 30
HELD_BYTES = 2 * GIB
MARK = {"BLACKWELL_INSTANCE": f"gpu-test-{os.getpid()}"}

HOLD = """
import ctypes, signal, sys
cuda = ctypes.CDLL("libcuda.so.1")
device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
for status in (
    cuda.cuInit(0),
    cuda.cuDeviceGetByPCIBusId(ctypes.byref(device), sys.argv[1].encode()),
    cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device),
    cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(int(sys.argv[2]))),
):
    if status:
        sys.exit(f"CUDA answers {status}")
print("held", flush=True)
signal.pause()
"""


@contextmanager
def holding(address: str, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A process with a CUDA context on a GPU and memory of it."""
    command = [*DIES_WITH_US, sys.executable, "-c", HOLD, address, str(HELD_BYTES)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def gpu_release(state: str, **options: Any) -> dict[str, Any]:
    arguments = json.dumps(
        {"environment": MARK, "state": state, "grace_seconds": 10, "deadline_seconds": 60, **options}
    )
    interpreter = ("-e", f"ansible_python_interpreter={sys.executable}")
    result = result_of(ansible("localhost", "-m", "blackwell.inference.gpu_release", "-a", arguments, *interpreter))
    assert "release" in result, result
    return result


def holder_of(result: dict[str, Any], process: subprocess.Popen[str]) -> dict[str, Any]:
    (holder,) = [holder for holder in result["release"]["holders"] if holder["pid"] == process.pid]
    return holder


@pytest.fixture
def free_gpu() -> dict[str, Any]:
    free = [gpu for gpu in gpu_release("listed")["release"]["gpus"] if gpu["state"] == "released"]
    assert free, "A GPU that nobody uses was expected."
    return free[0]


def test_real_memory_is_seen_ended_and_proved_free(free_gpu):
    index, gpus = free_gpu["index"], {"gpus": [free_gpu["uuid"]]}
    with holding(free_gpu["pci_address"], MARK) as process:
        listed = gpu_release("listed", **gpus)
        held = holder_of(listed, process)
        assert (held["owner"], held["blocks"], held["gpus"]) == ("ours", True, [index])
        assert held["gpu_memory_bytes"][str(index)] >= HELD_BYTES
        assert "nvidia-uvm" in held["devices"]
        assert listed["release"]["selected"] == [process.pid]
        assert listed["release"]["gpus"][0]["memory_used_bytes"] >= HELD_BYTES

        released = gpu_release("released", **gpus)
        ended = holder_of(released, process)
        assert (ended["outcome"], ended["signals"]) == ("exited", ["TERM"])
        assert process.wait(timeout=10) < 0
        (gpu,) = released["release"]["gpus"]
        assert gpu["state"] == released["release"]["state"] == "released"
        assert gpu["memory_used_bytes"] < gpu["idle_memory_bytes"]
    again = gpu_release("released", **gpus)
    assert (again["changed"], again["release"]["holders"]) == (False, [])


def test_a_strangers_context_keeps_a_real_gpu(free_gpu):
    gpus = {"gpus": [free_gpu["uuid"]], "deadline_seconds": 20}
    with holding(free_gpu["pci_address"], MARK) as ours, holding(free_gpu["pci_address"], {}) as stranger:
        released = gpu_release("released", **gpus)
        assert holder_of(released, ours)["outcome"] == "exited"
        kept = holder_of(released, stranger)
        assert (kept["outcome"], kept["signals"]) == ("not_ours", [])
        assert released["release"]["state"] == "held"
        assert stranger.poll() is None
