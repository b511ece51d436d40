# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a figure may be from the planned one, and why that far. Private to the collection, may change any time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..core.units import GB, GIB, MIB

LOG_GIB_BYTES = 5 * GIB // 1000
LOG_GB_BYTES = 5 * GB // 1000
"""Half of the last digit of a figure that the log prints with two decimals, in GiB for the GPU and in GB for host pools."""

PINNED_SHARE = 0.99
"""Of the planned host pools that much must be resident: the rest is the difference between planned and sized tokens."""


COUNTED_TWICE_SHARE = 0.1
"""The memory of a unit is added up over its processes: what several of them share counts several times."""


@dataclass(frozen=True)
class Tolerance:
    size: int
    reason: str


@dataclass(frozen=True)
class Deviation:
    """How far a line of the GPU's ledger may be off: bytes of one rank, and a share of the line itself."""

    base_bytes: int
    share: float
    reason: str


WEIGHTS, CONTEXT, GRAPHS, PREFILL_GRAPH = "weights", "CUDA context and NCCL", "CUDA graphs", "prefill graph"
_GRAPH_ESTIMATE = Deviation(GIB, 0.5, "the size of graphs is an estimate: it cannot be computed")
# Line of the plan's GPU ledger, and the first word of its source.
DEVIATIONS: Mapping[tuple[str, str], Deviation] = {
    (WEIGHTS, "measured"): Deviation(32 * MIB, 0.0, "the weights were measured at an earlier start"),
    (WEIGHTS, "operator"): Deviation(32 * MIB, 0.0, "the free memory was given by the operator"),
    (WEIGHTS, "profile"): Deviation(256 * MIB, 0.0, "the weights were measured on another host"),
    (WEIGHTS, "estimate"): Deviation(
        256 * MIB, 0.04, "the weights of a rank are an estimate from the checkpoint's size"
    ),
    (CONTEXT, "measured"): Deviation(64 * MIB, 0.0, "the driver's own use varies from start to start"),
    (CONTEXT, "profile"): Deviation(512 * MIB, 0.0, "the CUDA context and NCCL were measured on another host"),
    (CONTEXT, "estimate"): Deviation(512 * MIB, 0.0, "the CUDA context and NCCL are an estimate"),
    (GRAPHS, "measured"): Deviation(128 * MIB, 0.0, "the graphs were measured at an earlier start"),
    (GRAPHS, "profile"): Deviation(512 * MIB, 0.0, "the graphs were measured on another host"),
    (GRAPHS, "estimate"): _GRAPH_ESTIMATE,
    (PREFILL_GRAPH, "estimate"): _GRAPH_ESTIMATE,
}
EXACT = Tolerance(0, "it was asked for")
SWAP = Tolerance(64 * MIB, "the kernel may swap out pages that were touched once, at the import of a library")


def of_lines(lines: Iterable[Mapping[str, Any]], names: tuple[str, ...]) -> Tolerance:
    """The tolerances of some lines of a ledger added up; the reason is that of the largest."""
    sizes = []
    for line in lines:
        if line["name"] in names:
            kind = re.split("[: ]", str(line["source"]), maxsplit=1)[0]
            deviation = DEVIATIONS.get((line["name"], kind)) or DEVIATIONS[(line["name"], "estimate")]
            sizes.append((deviation.base_bytes + int(deviation.share * line["size_bytes"]), deviation.reason))
    largest = max(sizes, default=(0, "nothing of it is an estimate"))
    return Tolerance(sum(size for size, _reason in sizes), largest[1])
