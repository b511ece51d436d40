# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host description, and the questions that several trees ask of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Description = Mapping[str, Any]

HOSTS = Path(__file__).resolve().parents[2] / "data" / "hosts"


def load(name: str) -> Description:
    """One of the shipped hosts, by the name of its file without `.json`."""
    return json.loads((HOSTS / f"{name}.json").read_text(encoding="utf-8"))


def gpus(description: Description) -> list[dict[str, Any]]:
    """Each GPU with the defaults filled in, group by group, as the library looks values up."""
    return [merged(description["defaults"], gpu) for gpu in description["gpus"]]


def merged(defaults: Any, own: Any) -> Any:
    if not isinstance(defaults, Mapping) or not isinstance(own, Mapping):
        return own
    return {**defaults, **{key: merged(defaults.get(key), value) for key, value in own.items()}}


def cpus_of(ranges: str) -> Iterator[int]:
    """The numbers in "0-31,64-95"."""
    for part in ranges.split(","):
        first, _dash, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def online_cpus(description: Description) -> list[int]:
    return sorted(cpu for node in description["numa_nodes"] for cpu in cpus_of(node["cpus"]))


def ranges_of(cpus: list[int]) -> str:
    """ "0-31,64-95" for sorted numbers."""
    parts: list[list[int]] = []
    for cpu in cpus:
        if parts and parts[-1][1] == cpu - 1:
            parts[-1][1] = cpu
        else:
            parts.append([cpu, cpu])
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in parts)


def local_cpus(description: Description, gpu: Mapping[str, Any]) -> str:
    """A GPU without a NUMA node (a guest's) is local to every CPU, as in sysfs."""
    node = gpu["numa_node"]
    return description["numa_nodes"][node]["cpus"] if node >= 0 else ranges_of(online_cpus(description))
