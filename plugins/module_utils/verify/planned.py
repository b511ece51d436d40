# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the plan says, as verification needs it, and how far a figure may be from it. Private to the collection, may change any time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..core.errors import InferenceError
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


_GRAPH_LINES = (GRAPHS, PREFILL_GRAPH)


@dataclass(frozen=True)
class Planned:
    """A plan as `memory_plan` returns it."""

    plan: Mapping[str, Any]

    @classmethod
    def read(cls, plan: Mapping[str, Any]) -> Planned:
        lacking = sorted({"device", "ranks", "pool", "host", "host_cache", "arguments"} - set(plan))
        if lacking:
            raise InferenceError(
                f"The plan lacks {', '.join(lacking)}; a plan as memory_plan returns it was expected. Plan again, then verify."
            )
        return cls(plan)

    @property
    def on_cpu(self) -> bool:
        return bool(self.plan["device"] == "cpu")

    @property
    def ranks(self) -> int:
        return int(self.plan["ranks"])

    @property
    def tp(self) -> int:
        """Ranks of one pipeline stage."""
        return int((self.plan.get("parallel") or {}).get("tp") or self.ranks)

    @property
    def kinds(self) -> set[str]:
        """Kinds of the pools that one rank has on its device."""
        return {str(pool["kind"]) for pool in self._pools}

    @property
    def logged_cell_bytes(self) -> int:
        """Bytes of a token in the pool of full attention as the log adds them up: index keys are among them."""
        return sum(int(pool["slot_bytes"]) for pool in self._pools if pool["kind"] in ("full", "indexer"))

    def slots(self, kind: str) -> int | None:
        """Slots of the pool of this kind, None where there is none."""
        return next((int(pool["slots"]) for pool in self._pools if pool["kind"] == kind), None)

    @property
    def _pools(self) -> list[Mapping[str, Any]]:
        pools: list[Mapping[str, Any]] = self.plan.get("pools") or [
            {"kind": "full", "slots": self.tokens, "slot_bytes": self.cell_bytes}
        ]
        return pools

    @property
    def tokens(self) -> int:
        return int(self.plan["pool"]["tokens"])

    @property
    def cell_bytes(self) -> int:
        return int(self.plan["pool"]["cell_bytes"])

    @property
    def page_size(self) -> int:
        return int(self.plan["host_cache"].get("page_size") or self.argument("page-size") or 1)

    @property
    def gpu(self) -> Mapping[str, Any]:
        return self.plan.get("gpu") or {}

    @property
    def host(self) -> Mapping[str, Any]:
        host: Mapping[str, Any] = self.plan["host"]
        return host

    @property
    def observation(self) -> Mapping[str, Any]:
        return self.plan.get("observation") or {}

    @property
    def host_cache(self) -> Mapping[str, Any]:
        cache: Mapping[str, Any] = self.plan["host_cache"]
        return cache

    @property
    def graph_bytes(self) -> int:
        return sum(int(line["size_bytes"]) for line in self.gpu.get("lines", ()) if line["name"] in _GRAPH_LINES)

    def argument(self, flag: str) -> Any:
        """An engine flag that was asked for; None when it was left to the engine."""
        return self.plan["arguments"].get(flag)

    def graph_tolerance(self) -> Tolerance:
        return of_lines(self.gpu.get("lines", ()), _GRAPH_LINES)

    def token_tolerance(self) -> Tolerance:
        """A pool that was capped is what it was asked to be; one that fills the GPU is as exact as the free memory was known."""
        cap = self.argument("max-total-tokens")
        if cap is not None and self.tokens == int(cap) // self.page_size * self.page_size:
            return EXACT
        budget = of_lines(self.gpu.get("lines", ()), (WEIGHTS, CONTEXT))
        return Tolerance(budget.size // self.cell_bytes, budget.reason)
