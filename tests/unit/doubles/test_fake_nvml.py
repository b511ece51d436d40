# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fake NVML behaves as the driver's library does, read by the unmodified bindings."""

from __future__ import annotations

import ctypes
import re
import subprocess
import time
from importlib.metadata import version
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.tests.doubles.nvml.build import build, required_glibc

MIB, GIB = 1 << 20, 1 << 30


def test_the_library_loads_in_debian_12():
    assert required_glibc(build()) <= (2, 36)


def test_the_library_says_that_it_is_the_double():
    library = ctypes.CDLL(str(build()))
    library.fake_nvml_build.restype = ctypes.c_char_p
    assert library.fake_nvml_build().decode() == build().parent.name


def test_every_function_that_the_bindings_look_up_and_the_header_declares_is_there(machine):
    missing = machine().ask(
        "import re, inspect\n"
        "names = set(re.findall(r'_nvmlGetFunctionPointer\\(\"(\\w+)\"', inspect.getsource(N)))\n"
        "library = ctypes.CDLL('libnvidia-ml.so.1')\n"
        "tell(sorted(name for name in names if not hasattr(library, name)))"
    )
    assert [name for name in missing if not re.match(r"nvml(Vgpu|GpuInstance|ComputeInstance)", name)] == []


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("N.nvmlDeviceGetName(gpus[0])", "NVIDIA RTX PRO 6000 Blackwell Server Edition"),
        ("N.nvmlDeviceGetIndex(gpus[3])", 3),
        ("N.nvmlDeviceGetMinorNumber(gpus[0])", 2),
        ("N.nvmlDeviceGetCudaComputeCapability(gpus[0])", [12, 0]),
        ("N.nvmlDeviceGetMigMode(gpus[0])", [0, 0]),
        ("N.nvmlDeviceGetEccMode(gpus[0])", [1, 1]),
        ("N.nvmlDeviceGetPowerManagementLimitConstraints(gpus[0])", [300000, 600000]),
        ("N.nvmlDeviceGetGspFirmwareVersion(gpus[0]).decode()", "595.58.03"),
        ("N.nvmlDeviceGetClockInfo(gpus[0], N.NVML_CLOCK_MEM)", 405),
        ("N.nvmlDeviceGetMaxClockInfo(gpus[0], N.NVML_CLOCK_MEM)", 12481),
        ("N.nvmlDeviceGetTemperatureV(gpus[4], N.NVML_TEMPERATURE_GPU)", 28),
        ("N.nvmlDeviceGetPciInfo(gpus[0]).busId", "00000000:06:00.0"),
        ("N.nvmlDeviceGetPciInfo(gpus[6]).busIdLegacy", "0000:F4:00.0"),
        ("N.nvmlSystemGetCudaDriverVersion()", 13020),
        ("N.nvmlDeviceGetBAR1MemoryInfo(gpus[0]).bar1Total", 128 * GIB),
        ("list(N.nvmlDeviceGetMemoryAffinity(gpus[5], 1, N.NVML_AFFINITY_SCOPE_NODE))", [2]),
        ("N.nvmlDeviceGetTopologyCommonAncestor(gpus[0], gpus[1])", 10),
        ("N.nvmlDeviceGetTopologyCommonAncestor(gpus[0], gpus[2])", 40),
        ("N.nvmlDeviceGetTopologyCommonAncestor(gpus[7], gpus[0])", 50),
        ("len(N.nvmlDeviceGetTopologyNearestGpus(gpus[0], 40))", 2),
        ("N.nvmlDeviceGetP2PStatus(gpus[0], gpus[7], 0)", 0),
        ("N.nvmlDeviceGetP2PStatus(gpus[0], gpus[7], N.NVML_P2P_CAPS_INDEX_NVLINK)", 5),
        ("N.nvmlDeviceGetFieldValues(gpus[0], [N.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION])[0].value.uiVal", 0),
        ("N.nvmlDeviceGetRemappedRows(gpus[0])", [0, 0, 0, 0]),
        ("attempt(N.nvmlDeviceGetDisplayMode, gpus[0])", "Deprecated"),
        ("attempt(N.nvmlDeviceGetNumaNodeId, gpus[0])", "NotSupported"),
        ("attempt(N.nvmlDeviceGetNvLinkState, gpus[0], 0)", "NotSupported"),
        ("attempt(N.nvmlDeviceGetFanSpeed, gpus[0])", "NotSupported"),
        ("attempt(N.nvmlDeviceGetHandleByIndex, 8)", "InvalidArgument"),
        ("attempt(N.nvmlDeviceGetHandleByUUID, 'GPU-of-another-machine')", "NotFound"),
        ("N.nvmlDeviceGetIndex(N.nvmlDeviceGetHandleByPciBusId('00000000:75:00.0'))", 2),
        ("N.nvmlDeviceGetIndex(N.nvmlDeviceGetHandleByPciBusId('75:00.0'))", 2),
        ("N.nvmlDeviceGetIndex(N.nvmlDeviceGetHandleByUUID(N.nvmlDeviceGetUUID(gpus[5])))", 5),
    ],
)
def test_answers(machine, call, expected):
    assert machine().ask(f"gpus = start()\ntell({call})") == expected


def test_affinity_leaves_out_the_cpu_that_is_offline(machine):
    words = machine().ask("gpus = start()\ntell(list(N.nvmlDeviceGetCpuAffinity(gpus[4], 4)))")
    cpus = [bit for bit in range(256) if words[bit // 64] >> (bit % 64) & 1]
    assert cpus == [*range(64, 128), *range(192, 239), *range(240, 256)]


def test_nvlink_and_fabric_of_a_machine_with_switches(machine):
    assert machine("b200-8x").ask(
        "gpus = start()\n"
        "fabric = N.c_nvmlGpuFabricInfoV_t()\n"
        "fabric.version = N.nvmlGpuFabricInfo_v2\n"
        "N.nvmlDeviceGetGpuFabricInfoV(gpus[0], ctypes.byref(fabric))\n"
        "tell([[N.nvmlDeviceGetNvLinkState(gpus[0], link) for link in range(18)],"
        " attempt(N.nvmlDeviceGetNvLinkState, gpus[0], 18), N.nvmlDeviceGetNvLinkVersion(gpus[0], 0), fabric.state])"
    ) == [[1] * 18, "InvalidArgument", 7, 3]


# The two versions of the memory call


def test_the_first_memory_call_counts_reserved_as_used_and_the_second_does_not(machine):
    host = machine()
    host.content["gpus"][0]["processes"] = [{"pid": 1, "used_bytes": 72 * GIB}]
    first, second = host.ask(
        "gpus = start()\n"
        "tell([[getattr(info, name) for name in ('total', 'reserved', 'used', 'free') if hasattr(info, name)] for info in"
        " (N.nvmlDeviceGetMemoryInfo(gpus[0]), N.nvmlDeviceGetMemoryInfo(gpus[0], N.nvmlMemory_v2))])"
    )
    total, reserved = 97887 * MIB, 666370048
    assert first == [total, 72 * GIB + reserved, total - reserved - 72 * GIB]
    assert second == [total, reserved, 72 * GIB, total - reserved - 72 * GIB]


@pytest.mark.parametrize(
    ("structure", "call"),
    [
        ("c_nvmlMemory_v2_t", "nvmlDeviceGetMemoryInfo_v2"),
        ("c_nvmlGpuFabricInfoV_t", "nvmlDeviceGetGpuFabricInfoV"),
        ("c_nvmlTemperature_v1_t", "nvmlDeviceGetTemperatureV"),
    ],
)
def test_a_structure_of_an_unknown_version_is_refused(machine, structure, call):
    status = machine("b200-8x").ask(
        f"gpus = start()\nasked = N.{structure}()\nasked.version = 99\n"
        f"tell(N._nvmlGetFunctionPointer('{call}')(gpus[0], ctypes.byref(asked)))"
    )
    assert status == 25  # NVML_ERROR_ARGUMENT_VERSION_MISMATCH


# Starting


def test_nothing_is_answered_before_the_library_is_initialised_but_its_own_versions(machine):
    told = machine().ask(
        "N._LoadNvmlLibrary()\n"
        "tell([attempt(N.nvmlDeviceGetCount), attempt(N.nvmlSystemGetDriverVersion), attempt(N.nvmlShutdown),"
        " N.nvmlSystemGetNVMLVersion(), N.nvmlSystemGetCudaDriverVersion()])"
    )
    assert told == ["Uninitialized", "Uninitialized", "Uninitialized", "13.595.58.03", 13020]


def test_every_initialisation_wants_its_own_shutdown(machine):
    told = machine().ask(
        "N.nvmlInit(); N.nvmlInit(); N.nvmlShutdown()\n"
        "first = N.nvmlDeviceGetCount()\n"
        "N.nvmlShutdown()\n"
        "tell([first, attempt(N.nvmlDeviceGetCount)])"
    )
    assert told == [8, "Uninitialized"]


def test_without_a_description_the_driver_is_not_loaded(machine):
    host = machine()
    assert host.ask(f"import os\nos.unlink({str(host.path)!r})\ntell(attempt(N.nvmlInit))") == "DriverNotLoaded"


def test_a_description_that_is_no_json_is_as_good_as_none(machine):
    host = machine()
    assert host.ask(f"open({str(host.path)!r}, 'w').write('{{')\ntell(attempt(N.nvmlInit))") == "DriverNotLoaded"


# What goes wrong


def test_libraries_of_another_version_than_the_module_cannot_start(machine):
    told = machine("rtx-pro-6000-server-8x-mismatch").ask(
        "tell([attempt(N.nvmlInit), N.nvmlSystemGetNVMLVersion(), attempt(N.nvmlDeviceGetCount)])"
    )
    assert told == ["LibRmVersionMismatch", "13.595.71.05", "Uninitialized"]


def test_a_lost_gpu_gives_no_handle_and_the_others_answer(machine):
    told = machine("rtx-pro-6000-server-8x-lost").ask(
        "N.nvmlInit()\n"
        "tell([attempt(lambda: N.nvmlDeviceGetIndex(N.nvmlDeviceGetHandleByIndex(index))) for index in range(8)])"
    )
    assert told == [0, 1, 2, "GpuIsLost", 4, 5, 6, 7]


def test_a_gpu_lost_while_a_program_runs_answers_nothing_any_more(machine):
    host = machine()
    told = host.ask(
        "gpus = start()\n"
        "before = N.nvmlDeviceGetTemperature(gpus[2], 0)\n"
        f"text = open({str(host.path)!r}).read()\n"
        f"content = json.loads(text); content['gpus'][2]['state'] = 'GPU_IS_LOST'\n"
        f"open({str(host.path)!r}, 'w').write(json.dumps(content))\n"
        "tell([before, attempt(N.nvmlDeviceGetTemperature, gpus[2], 0), N.nvmlDeviceGetTemperature(gpus[1], 0)])"
    )
    assert told == [26, "GpuIsLost", 26]


def test_a_gpu_that_needs_a_reset_gives_a_handle_and_nothing_else(machine):
    host = machine()
    host.content["gpus"][2]["state"] = "RESET_REQUIRED"
    assert host.ask("gpus = start()\ntell(attempt(N.nvmlDeviceGetUUID, gpus[2]))") == "ResetRequired"


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"function": "nvmlDeviceGetName", "return": "UNKNOWN"}, ["Unknown"] * 6),
        ({"function": "nvmlDeviceGetN*", "gpu": 1, "return": "TIMEOUT"}, ["ok", "Timeout"] * 3),
        ({"function": "nvmlDeviceGetName", "after": 2, "return": "NO_PERMISSION"}, ["ok"] * 4 + ["NoPermission"] * 2),
        ({"function": "nvmlDeviceGetName", "times": 1, "return": "IN_USE"}, ["InUse"] * 2 + ["ok"] * 4),
        ({"function": "*", "gpu": 0, "after": 2, "times": 1, "return": "MEMORY"}, ["ok"] * 4 + ["Memory", "ok"]),
        ({"function": "nvmlDeviceGetUUID", "return": "UNKNOWN"}, ["ok"] * 6),
    ],
    ids=lambda value: " ".join(map(str, value.values())) if isinstance(value, dict) else "",
)
def test_faults(machine, fault, expected):
    """Two GPUs asked in turn, three times; calls are counted for each GPU."""
    host = machine()
    host.content["faults"] = [fault]
    told = host.ask(
        "gpus = start()\n"
        "tell([attempt(lambda gpu: N.nvmlDeviceGetName(gpu) and 'ok', gpu) for _ in range(3) for gpu in gpus[:2]])"
    )
    assert told == expected


def test_a_delayed_call_answers_late_and_holds_up_no_other_thread(machine):
    host = machine()
    host.content["faults"] = [{"function": "nvmlDeviceGetName", "gpu": 0, "delay_ms": 400}]
    slow, quick = host.ask(
        "import threading, time\n"
        "gpus = start()\n"
        "spent = {}\n"
        "def measure(key):\n"
        "    begin = time.monotonic(); N.nvmlDeviceGetName(gpus[key]); spent[key] = time.monotonic() - begin\n"
        "threads = [threading.Thread(target=measure, args=(key,)) for key in (0, 1)]\n"
        "[thread.start() for thread in threads]; [thread.join() for thread in threads]\n"
        "tell([spent[0], spent[1]])"
    )
    assert slow >= 0.4
    assert quick < 0.3


def test_an_error_in_place_of_a_value(machine):
    host = machine()
    host.content["gpus"][0]["temperature"] = "!TIMEOUT"
    host.content["defaults"]["processes"] = "!NO_PERMISSION"
    told = host.ask(
        "gpus = start()\n"
        "tell([attempt(N.nvmlDeviceGetTemperature, gpus[0], 0), attempt(N.nvmlDeviceGetComputeRunningProcesses, gpus[0])])"
    )
    assert told == ["Timeout", "NoPermission"]


# Processes

SEE_PROCESSES = (
    "tell([N.nvmlDeviceGetMemoryInfo(gpus[0], N.nvmlMemory_v2).used,"
    " [[process.pid, process.usedGpuMemory] for process in N.nvmlDeviceGetComputeRunningProcesses(gpus[0])]])"
)


def test_a_process_of_another_namespace_uses_memory_and_is_not_listed(machine):
    host = machine()
    host.content["gpus"][0]["processes"] = [{"pid": 4711, "used_bytes": 90 * GIB, "hidden": True}]
    assert host.ask("gpus = start()\n" + SEE_PROCESSES) == [90 * GIB, []]


def test_a_process_of_unknown_size_is_listed_without_one(machine):
    host = machine()
    host.content["gpus"][0]["processes"] = [{"pid": 4711, "used_bytes": None}]
    assert host.ask("gpus = start()\n" + SEE_PROCESSES) == [0, [[4711, None]]]


def test_memory_falls_when_the_process_dies_also_while_it_is_a_zombie(machine):
    host = machine()
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        host.content["gpus"][0]["processes"] = [{"pid": sleeper.pid, "used_bytes": 80 * GIB, "live": True}]
        alive = host.ask("gpus = start()\n" + SEE_PROCESSES)
        sleeper.kill()
        while Path(f"/proc/{sleeper.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            time.sleep(0.01)
        zombie = host.ask("gpus = start()\n" + SEE_PROCESSES)
    finally:
        sleeper.kill()
        sleeper.wait()
    gone = host.ask("gpus = start()\n" + SEE_PROCESSES)
    assert alive == [80 * GIB, [[sleeper.pid, 80 * GIB]]]
    assert zombie == gone == [0, []]


def test_a_program_says_itself_what_it_holds_and_a_file_left_behind_counts_no_more(machine):
    host = machine()
    host.content["process_directory"] = str(host.folder / "held")
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        for gpu, pid in ((0, sleeper.pid), (0, 999999999), (1, sleeper.pid)):
            held = host.folder / "held" / str(gpu) / str(pid)
            held.parent.mkdir(parents=True, exist_ok=True)
            held.write_text(str((gpu + 1) * GIB), encoding="utf-8")
        alive = host.ask("gpus = start()\n" + SEE_PROCESSES)
    finally:
        sleeper.kill()
        sleeper.wait()
    gone = host.ask("gpus = start()\n" + SEE_PROCESSES)
    assert alive == [GIB, [[sleeper.pid, GIB]]]
    assert gone == [0, []]


@pytest.mark.parametrize(("suffix", "record"), [("", "v1"), ("_v2", "v2"), ("_v3", "v2")])
def test_each_version_of_the_process_list_fills_its_own_record(machine, suffix, record):
    host = machine()
    host.content["gpus"][0]["processes"] = [{"pid": 100 + number, "used_bytes": number * GIB} for number in range(3)]
    fields = "('pid', ctypes.c_uint), ('used', ctypes.c_ulonglong)"
    fields += ", ('instance', ctypes.c_uint), ('part', ctypes.c_uint)" if record == "v2" else ""
    told = host.ask(
        f"class Record(ctypes.Structure):\n    _fields_ = [{fields}]\n"
        "gpus = start()\n"
        f"call = N._nvmlGetFunctionPointer('nvmlDeviceGetComputeRunningProcesses{suffix}')\n"
        "answers = []\n"
        "for room in (0, 2, 3):\n"
        "    count, records = ctypes.c_uint(room), (Record * 3)()\n"
        "    status = call(gpus[0], ctypes.byref(count), records)\n"
        "    answers.append([status, count.value, [[entry.pid, entry.used] for entry in records[:room]]])\n"
        "tell(answers)"
    )
    listed = [[100, 0], [101, GIB], [102, 2 * GIB]]
    assert told == [[7, 3, []], [7, 3, listed[:2]], [0, 3, listed]]  # 7: insufficient size


# What tests learn from it


def test_the_log_names_every_call_also_of_functions_without_an_answer(machine):
    host = machine()
    told = host.ask("gpus = start()\ntell(attempt(N.nvmlDeviceSetPersistenceMode, gpus[0], 1))")
    assert told == "NotSupported"
    assert host.calls() == [
        "nvmlInitWithFlags",
        *["nvmlDeviceGetCount_v2"],
        *["nvmlDeviceGetHandleByIndex_v2"] * 8,
        "nvmlDeviceSetPersistenceMode",
    ]


def test_threads_and_forks_read_while_the_description_changes(machine):
    host = machine()
    assert host.ask(
        "import os, threading\n"
        "gpus = start()\n"
        f"path = {str(host.path)!r}\n"
        "content = json.load(open(path))\n"
        "wrong = []\n"
        "def read():\n"
        "    for _ in range(300):\n"
        "        if N.nvmlDeviceGetTemperature(gpus[1], 0) not in (26, 90): wrong.append(1)\n"
        "threads = [threading.Thread(target=read) for _ in range(4)]\n"
        "[thread.start() for thread in threads]\n"
        "for number in range(40):\n"
        "    content['gpus'][1]['temperature'] = 90 if number % 2 else 26\n"
        "    open(path + '.new', 'w').write(json.dumps(content)); os.replace(path + '.new', path)\n"
        "[thread.join() for thread in threads]\n"
        "pid = os.fork()\n"
        "if not pid: os._exit(N.nvmlDeviceGetTemperature(gpus[1], 0))\n"
        "tell([wrong, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])])"
    ) == [[], 90]


def test_the_bindings_are_those_that_the_double_was_compared_with():
    assert version("nvidia-ml-py") == "13.615.71"
