# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hardware given as data, for a plan before anybody owns it. Private to the collection, may change any time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...core.errors import PlanningError
from ...core.fields import Fields, describe, is_number
from ...core.units import gib_to_bytes
from .host import GpuState, HostState, NumaNode, idle_available_bytes

_SIZES = (
    "gpu_memory_gib",
    "gpu_free_gib",
    "gpu_free_before_load_gib",
    "gpu_free_after_load_gib",
    "ram_gib",
    "ram_available_gib",
    "cgroup_limit_gib",
    "memlock_gib",
)
_OTHERS = ("gpus", "gpu_name", "compute_capability", "numa_nodes")
# NVIDIA's list of GPUs by compute capability; the first beginning that is found in a name counts.
_CAPABILITIES = (
    ("RTX PRO ", "12.0"),
    ("RTX 50", "12.0"),
    ("GB10", "12.1"),
    ("B300", "10.3"),
    ("B200", "10.0"),
    ("B100", "10.0"),
    ("H200", "9.0"),
    ("H100", "9.0"),
    ("L40", "8.9"),
    ("Ada", "8.9"),
    ("RTX 40", "8.9"),
    ("A100", "8.0"),
)
_ADVICE = "correct inference_hardware, for example {gpus: 8, gpu_memory_gib: 95.59, ram_gib: 449}"


def host_from_hardware(data: Any) -> HostState:
    """`gpus` cards of `gpu_memory_gib` each (nvidia-smi's memory.total) and `ram_gib` of host memory; what else is known sharpens the plan.

    With `numa_nodes` above 1 each has the same memory, and the same number of cards in order.
    """
    fields = Fields.of(data, "The hardware", _ADVICE, PlanningError)
    for key in fields.data:
        if key not in _SIZES + _OTHERS:
            raise PlanningError(f"The hardware has the key '{key}'; expected {', '.join(_OTHERS + _SIZES)}: {_ADVICE}.")
    sizes = {key: _size(fields.data, key) for key in _SIZES}
    gpus = fields.whole("gpus", 0, 4096)
    ram = _required(sizes, "ram_gib")
    available = sizes["ram_available_gib"]
    if available is not None and available > ram:
        raise PlanningError(
            f"The hardware has ram_available_gib {fields.data['ram_available_gib']} of ram_gib "
            f"{fields.data['ram_gib']}; expected no more than there is: {_ADVICE}."
        )
    card = _required(sizes, "gpu_memory_gib") if gpus else 0
    if gpus:
        _check_free(fields.data, sizes, card)
    capability = _capability(fields.optional_text("compute_capability"), fields.optional_text("gpu_name"))
    if capability is not None and re.fullmatch(r"\d{1,3}\.\d", capability) is None:
        raise PlanningError(
            f"The hardware's compute_capability is the text '{capability[:60]}'; expected a text like \"12.0\": {_ADVICE}."
        )
    nodes = fields.optional_whole("numa_nodes", 1, 64) or 1
    homes = [index * nodes // gpus if nodes > 1 else None for index in range(gpus)]
    return HostState(
        gpus=tuple(
            GpuState(index, f"data-{index}", "ok", card, sizes["gpu_free_gib"], "operator", home)
            for index, home in enumerate(homes)
        ),
        numa_nodes=tuple(NumaNode(node, ram // nodes) for node in range(nodes)) if nodes > 1 else (),
        memory_total_bytes=ram,
        memory_available_bytes=idle_available_bytes(ram) if available is None else available,
        memory_source="estimate: what the system itself takes" if available is None else "operator",
        cgroup_limit_bytes=sizes["cgroup_limit_gib"],
        cgroup_headroom_bytes=sizes["cgroup_limit_gib"],
        memlock_bytes=sizes["memlock_gib"],
        free_before_load_bytes=sizes["gpu_free_before_load_gib"],
        free_after_load_bytes=sizes["gpu_free_after_load_gib"],
        compute_capabilities=() if capability is None else (capability,),
    )


def _capability(given: str | None, name: str | None) -> str | None:
    """As told, else that of the named card: what does not run on a card is known by it."""
    if given is not None or name is None:
        return given
    for part, capability in _CAPABILITIES:
        if part.lower() in name.lower():
            return capability
    raise PlanningError(
        f"The hardware's gpu_name '{name[:60]}' is no card whose compute capability is known here; give it in compute_capability, "
        'as "12.0" of an RTX PRO 6000: what does not run on a card is told by that.'
    )


def _check_free(data: Mapping[str, Any], sizes: Mapping[str, int | None], card_bytes: int) -> None:
    """What is free is at most the card, and never more after the load than before it."""
    most, limit = card_bytes, "gpu_memory_gib"
    for key in ("gpu_free_gib", "gpu_free_before_load_gib", "gpu_free_after_load_gib"):
        size = sizes[key]
        if size is not None and size > most:
            raise PlanningError(
                f"The hardware has {key} {data[key]} of {limit} {data.get(limit)}; expected no more than there is: {_ADVICE}."
            )
        if size is not None:
            most, limit = size, key


def _size(data: Mapping[str, Any], key: str) -> int | None:
    value = data.get(key)
    if value is None:
        return None
    if not is_number(value) or not 0 < value < 1e9:
        raise PlanningError(f"The hardware's {key} is {describe(value)}; expected a number of GiB above 0: {_ADVICE}.")
    return gib_to_bytes(value)


def _required(sizes: dict[str, int | None], key: str) -> int:
    size = sizes[key]
    if size is None:
        raise PlanningError(f"The hardware lacks {key}; expected a number of GiB above 0: {_ADVICE}.")
    return size
