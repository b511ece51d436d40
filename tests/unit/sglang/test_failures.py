# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A failed start is explained by the line that says most."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.sglang.failures import FAILURES, explain

CASES = [
    (
        "The GPUs are not free: GPU 0 has 1.0 GiB in use and is held by process 20 (python3). End it.",
        "The GPUs are not free: GPU 0 has 1.0 GiB in use and is held by process 20 (python3). End it. systemd refused the start.",
    ),
    (
        "ValueError: Not enough host memory available. Requesting 30.00 GB but only have 10.86 GB free. Please reduce the size of the hierarchical cache.",
        "The host cache does not fit into host memory: ValueError: Not enough host memory available. Requesting 30.00 GB but only have 10.86 GB free. "
        "Please reduce the size of the hierarchical cache. Lower hicache_size or hicache_ratio, "
        "or set hicache_size to null without a hicache_ratio and let the plan choose.",
    ),
    (
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: self.server_args.mem_fraction_static=0.5",
        "The weights leave no GPU memory for the KV pool: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. "
        "Current value: self.server_args.mem_fraction_static=0.5. Raise mem_fraction_static, or use more GPUs.",
    ),
    (
        "RuntimeError: SWA pool cap (8192 tokens, 1.50 GiB) leaves no room for the full KV pool within the available 1.20 GiB.",
        "The pools of a sliding-window model do not fit: RuntimeError: SWA pool cap (8192 tokens, 1.50 GiB) leaves no room for the full KV pool within "
        "the available 1.20 GiB. Raise mem_fraction_static or swa_full_tokens_ratio, or lower max_running_requests.",
    ),
    (
        "ValueError: SWA pool (96 tokens) cannot hold even one request: the prefill admission floor is sliding_window_size (128) + page_size (1).",
        "The pools of a sliding-window model do not fit: ValueError: SWA pool (96 tokens) cannot hold even one request: the prefill admission floor is "
        "sliding_window_size (128) + page_size (1). Raise mem_fraction_static or swa_full_tokens_ratio, or lower max_running_requests.",
    ),
    (
        "RuntimeError: The hybrid (mamba/linear-attention) state cache is too small to serve any requests.",
        "The state pool of a hybrid model serves no request: RuntimeError: The hybrid (mamba/linear-attention) state cache is too small to serve any "
        "requests. Raise mem_fraction_static, mamba_full_memory_ratio or max_mamba_cache_size.",
    ),
    (
        "AssertionError: The host memory should be larger than the device memory with the current protocol",
        "The host cache is not larger than the GPU's pool: AssertionError: The host memory should be larger than the device memory with the current "
        "protocol. Raise hicache_size or hicache_ratio above it, or switch the host cache off.",
    ),
    (
        "ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes.",
        "The GPUs do not have the same free memory: ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes. "
        "Release what else holds them, then start again.",
    ),
    (
        "Exception: Capture cuda graph failed: CUDA error",
        "Capturing CUDA graphs failed: Exception: Capture cuda graph failed: CUDA error. Lower mem_fraction_static or cuda_graph_max_bs.",
    ),
    (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        "A GPU ran out of memory: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
        "Lower mem_fraction_static, or release what else holds the GPU.",
    ),
    (
        "RuntimeError: cudaHostRegister failed with error 2",
        "Host memory could not be pinned: RuntimeError: cudaHostRegister failed with error 2. "
        "Check LimitMEMLOCK of the unit and the memory limit of its control group.",
    ),
    (
        "ERROR: [Errno 98] error while attempting to bind on address ('127.0.0.1', 30000): address already in use",
        "The port is taken: ERROR: [Errno 98] error while attempting to bind on address ('127.0.0.1', 30000): address already in use. "
        "Stop the process that listens there, or choose another port.",
    ),
    (
        "launch_server.py: error: unrecognized arguments: --cuda-graph-max-bs 32",
        "The engine refused its arguments: launch_server.py: error: unrecognized arguments: --cuda-graph-max-bs 32. "
        "The flags belong to another version of SGLang; check the arguments and the version.",
    ),
    (
        "ModuleNotFoundError: No module named 'sgl_kernel'",
        "The engine's environment is incomplete: ModuleNotFoundError: No module named 'sgl_kernel'. Install the runtime again.",
    ),
    (
        "FileNotFoundError: [Errno 2] No such file or directory: '/srv/models/x/config.json'",
        "The model or another file could not be read: FileNotFoundError: [Errno 2] No such file or directory: '/srv/models/x/config.json'. "
        "Check that model_path is complete and that the service's user may read it.",
    ),
    (
        "RuntimeError: No CUDA GPUs are available",
        "The engine found no usable GPU: RuntimeError: No CUDA GPUs are available. Check the driver, the device nodes and the GPUs that the unit may see.",
    ),
    (
        "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:94",
        "The ranks could not talk to each other: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:94. "
        "Check NCCL's settings against the topology of this host.",
    ),
    (
        "sglang-kimi.service: A process of this unit has been killed by the OOM killer.",
        "The kernel killed a process of the unit for want of host memory: sglang-kimi.service: A process of this unit has been killed by the OOM killer. "
        "Lower the host cache, or raise the memory limit of the unit or container.",
    ),
    (
        "sglang-kimi.service: Failed at step EXEC spawning /opt/sglang/bin/python: No such file or directory",
        "systemd could not start the process: sglang-kimi.service: Failed at step EXEC spawning /opt/sglang/bin/python: No such file or directory. "
        "Check the paths, the user and the limits that the unit names.",
    ),
    (
        "sglang-kimi.service: start operation timed out. Terminating.",
        "The unit's start timeout ran out: sglang-kimi.service: start operation timed out. Terminating. "
        "Raise TimeoutStartSec of the unit; the plan derives one.",
    ),
    (
        "[2026-02-24 10:00:00 TP3] Scheduler hit an exception",
        None,
    ),
    ("KeyError: 'model.layers.0'", "The engine ended with an exception: KeyError: 'model.layers.0'."),
    (
        "[2026-02-24 10:00:00] Received sigquit from a child process. It usually means the child failed.",
        "A rank process died and said nothing: Received sigquit from a child process. It usually means the child failed. Look for the kernel's word in dmesg.",
    ),
    (
        "sglang-kimi.service: Main process exited, code=exited, status=1/FAILURE",
        "The process ended and said nothing: sglang-kimi.service: Main process exited, code=exited, status=1/FAILURE.",
    ),
]
MILESTONE = "[2026-02-24 10:00:00 TP0] Load weight begin. avail mem=94.04 GB"


@pytest.mark.parametrize(("line", "sentence"), CASES, ids=[line[:50] for line, _sentence in CASES])
def test_a_line_explains_the_failure(line: str, sentence: str | None) -> None:
    assert explain([MILESTONE, line]) == sentence


def test_every_row_has_a_case() -> None:
    unused = [
        failure.sentence
        for failure in FAILURES
        if not any(failure.expression.search(line) for line, _sentence in CASES)
    ]
    assert unused == []


def test_causes_stand_before_consequences() -> None:
    lines = [
        "torch.OutOfMemoryError: CUDA out of memory.",
        "[2026-02-24 10:00:00] Received sigquit from a child process. It usually means the child failed.",
        "x.service: Main process exited, code=exited, status=1/FAILURE",
    ]
    assert str(explain(lines)).startswith("A GPU ran out of memory: ")


def test_an_exception_that_the_start_survived_explains_nothing() -> None:
    assert explain(["ModuleNotFoundError: No module named 'openai_harmony'", MILESTONE]) is None


def test_the_argument_dump_explains_nothing() -> None:
    assert explain(["[2026-02-24 10:00:00] server_args=ServerArgs(x='CUDA out of memory')"]) is None


def test_a_long_line_is_cut() -> None:
    sentence = str(explain(["RuntimeError: CUDA out of memory " + "x" * 1000]))
    assert len(sentence) < 500
    assert " ... Lower mem_fraction_static" in sentence
