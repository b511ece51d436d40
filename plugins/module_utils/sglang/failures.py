# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a start failed, in a sentence, from what it left in the journal. Private to the collection, may change any time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from re import Pattern
from typing import NamedTuple

from .log_lines import events, is_argument_dump


class Failure(NamedTuple):
    """A line that explains a failed start, and what to do about it; the line itself is quoted by {line}."""

    expression: Pattern[str]
    sentence: str
    late: bool = False  # counts only after the last milestone: engines log exceptions that they survive, an optional import for one


# The first row that any line matches wins: causes stand before consequences. Texts as of SGLang since 0.4.9, CUDA 13, systemd 247 to 257.
FAILURES = (
    # of our own program before the engine: release/guard.py
    Failure(re.compile(r"^The GPUs are not free: "), "{line} systemd refused the start."),
    Failure(
        re.compile(r"Not enough host memory available\. Requesting"),
        "The host cache does not fit into host memory: {line} Lower hicache_size or hicache_ratio, "
        "or set hicache_size to null without a hicache_ratio and let the plan choose.",
    ),
    Failure(
        re.compile(
            r"Loaded weights leave no GPU memory for the KV cache|Not enough memory\. Please try to increase --mem-fraction-static"
        ),
        "The weights leave no GPU memory for the KV pool: {line} Raise mem_fraction_static, or use more GPUs.",
    ),
    # since 0.5.14 and 0.5.16
    Failure(
        re.compile(r"SWA pool (?:cap )?\(\d+ tokens.*(?:leaves no room|cannot hold)"),
        "The pools of a sliding-window model do not fit: {line} Raise mem_fraction_static or swa_full_tokens_ratio, or lower max_running_requests.",
    ),
    # since 0.5.13
    Failure(
        re.compile(r"state cache is too small to serve"),
        "The state pool of a hybrid model serves no request: {line} Raise mem_fraction_static, mamba_full_memory_ratio or max_mamba_cache_size.",
    ),
    Failure(
        re.compile(r"The host memory should be larger than the device memory"),
        "The host cache is not larger than the GPU's pool: {line} Raise hicache_size or hicache_ratio above it, or switch the host cache off.",
    ),
    Failure(
        re.compile(r"memory capacity is unbalanced"),
        "The GPUs do not have the same free memory: {line} Release what else holds them, then start again.",
    ),
    Failure(
        re.compile(r"Capture cuda graph failed"),
        "Capturing CUDA graphs failed: {line} Lower mem_fraction_static or cuda_graph_max_bs.",
    ),
    Failure(
        re.compile(
            r"(?:torch\.)?(?:cuda\.)?OutOfMemoryError|CUDA out of memory|CUDA error: out of memory|Prefill out of memory"
        ),
        "A GPU ran out of memory: {line} Lower mem_fraction_static, or release what else holds the GPU.",
    ),
    Failure(
        re.compile(r"cudaHostRegister.*fail|Failed to register host memory", re.IGNORECASE),
        "Host memory could not be pinned: {line} Check LimitMEMLOCK of the unit and the memory limit of its control group.",
    ),
    Failure(
        re.compile(r"(?:address already in use|\[Errno 98\])", re.IGNORECASE),
        "The port is taken: {line} Stop the process that listens there, or choose another port.",
    ),
    Failure(
        re.compile(
            r"error: (?:unrecognized arguments|argument |ambiguous option|the following arguments)|Unsupported config option"
        ),
        "The engine refused its arguments: {line} The flags belong to another version of SGLang; check the arguments and the version.",
    ),
    Failure(
        re.compile(r"^(?:\[[^\]]*\] )?(?:ModuleNotFoundError|ImportError): "),
        "The engine's environment is incomplete: {line} Install the runtime again.",
        late=True,
    ),
    Failure(
        re.compile(
            r"(?:FileNotFoundError|Can't load the configuration|HFValidationError|Repository Not Found|SafetensorError|is not a local folder|PermissionError)"
        ),
        "The model or another file could not be read: {line} Check that model_path is complete and that the service's user may read it.",
    ),
    Failure(
        re.compile(
            r"No CUDA GPUs are available|No accelerator .* is available|CUDA driver version is insufficient|no CUDA-capable device"
        ),
        "The engine found no usable GPU: {line} Check the driver, the device nodes and the GPUs that the unit may see.",
    ),
    Failure(
        re.compile(r"NCCL error|ncclUnhandledCudaError|ncclSystemError|ncclInternalError"),
        "The ranks could not talk to each other: {line} Check NCCL's settings against the topology of this host.",
    ),
    Failure(
        re.compile(r"killed by the OOM killer|Failed with result 'oom-kill'"),
        "The kernel killed a process of the unit for want of host memory: {line} Lower the host cache, or raise the memory limit of the unit or container.",
    ),
    Failure(
        re.compile(r"(?:Failed at step|Failed to set up|Failed to locate executable) .*"),
        "systemd could not start the process: {line} Check the paths, the user and the limits that the unit names.",
    ),
    Failure(
        re.compile(r"start operation timed out"),
        "The unit's start timeout ran out: {line} Raise TimeoutStartSec of the unit; the plan derives one.",
    ),
    # An exception that no row above knows still says more than the exit status.
    Failure(
        re.compile(r"^(?:\[[^\]]*\] )?(?:[A-Za-z_]+\.)*[A-Z][A-Za-z]*(?:Error|Exception): "),
        "The engine ended with an exception: {line}",
        late=True,
    ),
    Failure(
        re.compile(r"Received sigquit from a child process"),
        "A rank process died and said nothing: {line} Look for the kernel's word in dmesg.",
    ),
    Failure(re.compile(r"Main process exited, code="), "The process ended and said nothing: {line}"),
)
_PREFIX = re.compile(r"^\[[^\]]*\] ")
LONGEST_QUOTE = 300


def explain(lines: Sequence[str]) -> str | None:
    """The sentence for the best explanation in `lines` (oldest first), or None when nothing in them looks like a failure."""
    speaking = [line for line in lines if not is_argument_dump(line)]
    late = speaking[_after_milestones(speaking) :]
    for failure in FAILURES:
        for line in reversed(late if failure.late else speaking):
            if failure.expression.search(line):
                return failure.sentence.format(line=_quote(line)).strip()
    return None


def _after_milestones(lines: Sequence[str]) -> int:
    """Index of the first line after the last one that tells how far the start has come."""
    return max((number for number, line in enumerate(lines, start=1) if any(events([line]))), default=0)


def _quote(line: str) -> str:
    text = _PREFIX.sub("", line).strip()
    text = text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + " ..."
    return text if text.endswith((".", "!", "?", "...")) else text + "."
