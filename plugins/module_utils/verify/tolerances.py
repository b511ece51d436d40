# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a figure may be from the planned one, and why that far. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GB, GIB, MIB

LOG_GIB_BYTES = 5 * GIB // 1000
LOG_GB_BYTES = 5 * GB // 1000
"""Half of the last digit of a figure that the log prints with two decimals, in GiB for the GPU and in GB for host pools."""


@dataclass(frozen=True)
class Tolerance:
    size: int
    reason: str


@dataclass(frozen=True)
class Kind:
    """How a figure of the plan came to be; the first word of its source says so."""

    budget: Tolerance  # of the KV budget of a rank
    graph_share: float  # of the graphs' size
    graph: Tolerance


# Source of the figure in the plan -> how much the start may differ from it, in bytes of one rank.
BY_SOURCE = {
    "measured": Kind(
        Tolerance(64 * MIB, "measured at an earlier start, printed with two decimals; the driver's own use varies"),
        0.0,
        Tolerance(128 * MIB, "measured at an earlier start"),
    ),
    "operator": Kind(
        Tolerance(64 * MIB, "given by the operator with two decimals"),
        0.5,
        Tolerance(GIB, "the size of graphs cannot be computed"),
    ),
    "profile": Kind(
        Tolerance(512 * MIB, "measured on another host, whose context and communication buffers differ"),
        0.5,
        Tolerance(GIB, "the size of graphs cannot be computed"),
    ),
    "estimate": Kind(
        Tolerance(3 * GIB, "estimated from the size of the checkpoint, 3 % of it replicated"),
        0.5,
        Tolerance(GIB, "the size of graphs cannot be computed"),
    ),
}
EXACT = Tolerance(0, "it was asked for")
SWAP = Tolerance(64 * MIB, "the kernel may swap out pages that were touched once, at the import of a library")
PINNED_SHARE = 0.99
"""Of the planned host pools that much must be resident: the rest is the difference between planned and sized tokens."""


def kind_of(source: str) -> Kind:
    return BY_SOURCE.get(source.split(":")[0].split(" ")[0], BY_SOURCE["estimate"])


def scaled(tolerance: Tolerance, share: float, of: int) -> Tolerance:
    """The tolerance and a share of a figure."""
    return Tolerance(tolerance.size + int(share * of), tolerance.reason)
