# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The processors. Private to the collection, may change any time."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .files import HostFiles
from .keyed import colon_lines

_CPUS = "/sys/devices/system/cpu"


@dataclass(frozen=True)
class Cpu:
    """`physical` and `sockets` are None where the kernel does not show the packages (some guests)."""

    model: str | None
    logical: int
    physical: int | None
    sockets: int | None


def read_cpu(files: HostFiles) -> Cpu:
    text = files.text("/proc/cpuinfo") or ""
    blocks = [colon_lines(block) for block in re.split(r"\n\s*\n", text)]
    processors = {int(block["processor"]): block for block in blocks if block.get("processor", "").isdigit()}
    cores = set()
    for number, block in processors.items():
        home = f"{_CPUS}/cpu{number}/topology"
        package = block.get("physical id") or files.text(f"{home}/physical_package_id")
        core = block.get("core id") or files.text(f"{home}/core_id")
        if package is not None and core is not None:
            cores.add((package, core))
    return Cpu(
        model=_model(processors[min(processors)]) if processors else None,
        logical=len(processors),
        physical=len(cores) or None,
        sockets=len({package for package, _core in cores}) or None,
    )


def _model(block: dict[str, str]) -> str | None:
    """x86 names its model; Arm gives numbers only."""
    if "CPU part" in block:
        return f"Arm implementer {block.get('CPU implementer')} part {block['CPU part']}"
    return block.get("model name")
