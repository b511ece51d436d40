# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NVML's refusals mean, as sentences. Private to the collection, may change any time. Holds for NVML of drivers 570 to 620."""

from __future__ import annotations

from .session import NvmlReply

GPU_IS_LOST, RESET_REQUIRED, LIB_RM_VERSION_MISMATCH = 15, 16, 18
LOST = (GPU_IS_LOST, RESET_REQUIRED)

NO_DEVICES = (
    "NVML runs but shows no GPU: expected at least one. Blackwell GPUs need the open kernel modules, "
    "and a container or VM sees only the GPUs that were given to it."
)

_HOST: dict[int, str] = {
    4: "NVML may not open the driver's device nodes (no permission): run as root, or give this user access to /dev/nvidiactl and /dev/nvidia*.",
    9: "The NVIDIA kernel module is not loaded: load it with `modprobe nvidia`, or install the driver; in a container its host must load it.",
    12: "The NVIDIA library libnvidia-ml.so.1 was not found: install the NVIDIA driver, or name the library with nvml_library.",
    999: "NVML could not start (unknown error): look for NVRM or Xid in the kernel log; in a container check that it may use /dev/nvidiactl.",
}

_GPU: dict[int, str] = {
    GPU_IS_LOST: "GPU {index} is lost: it fell off the bus. Look for Xid 79 in the kernel log; a reboot or power cycle of the host brings it back.",
    RESET_REQUIRED: "GPU {index} answers nothing until it is reset: stop what uses it and reset it, or reboot the host.",
}


def refusal_sentence(code: int, nvml_version: str | None, kernel_version: str | None, library: str | None) -> str:
    """Why NVML did not start."""
    if code == LIB_RM_VERSION_MISMATCH:
        # NVML puts the major version of CUDA before that of the driver it came with.
        library_version = nvml_version.partition(".")[2] if nvml_version else "unknown"
        return (
            f"The NVIDIA library is of version {library_version} and the loaded kernel module of version {kernel_version or 'unknown'}: "
            "they must be the same. After a driver upgrade reload the module or reboot; in a container install the host's driver version."
        )
    if code == 12 and library:
        return f"The NVIDIA library {library} was not found."
    return _HOST.get(code, f"NVML could not start: it answered with error {code}.")


def host_sentence(heard: NvmlReply, kernel_version: str | None, library: str | None) -> str:
    """Why nothing at all was learnt from NVML."""
    if heard.unloadable is not None:
        return f"The NVIDIA library {library} could not be loaded: {heard.unloadable}. Name a library for this machine with nvml_library."
    if heard.refused is not None:
        return refusal_sentence(heard.refused, heard.nvml_version, kernel_version, library)
    return f"NVML told nothing: {breaking_off(heard)}. {_advice(heard, 'driver needs')}"


def gpu_sentence(index: int, code: int) -> str:
    """Why NVML answers nothing about one GPU."""
    return _GPU.get(code, "GPU {index} could not be read: NVML answered with error {code}.").format(
        index=index, code=code
    )


def silence_sentence(index: int, heard: NvmlReply) -> str:
    """Why nothing was learnt about one GPU although others answer."""
    return f"GPU {index} told nothing: {breaking_off(heard)}. {_advice(heard, 'GPU needs a reset or')}"


def breaking_off(heard: NvmlReply) -> str:
    """Which call never came back, or how its process ended."""
    if heard.silent_seconds is not None:
        return f"{heard.asking or 'its process'} did not return within {heard.silent_seconds:.0f} seconds"
    return f"its process {heard.ended} {'in ' + heard.asking if heard.asking else 'before it asked anything'}"


def _advice(heard: NvmlReply, cure: str) -> str:
    hung = "" if heard.silent_seconds is None else f"; a hung {cure} a reboot of the host"
    return f"Look for NVRM or Xid in the kernel log{hung}."
