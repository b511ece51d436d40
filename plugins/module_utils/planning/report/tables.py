# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of a plan: rows of what, bytes and source. Private to the collection, may change any time.

The terminal, the diff, the file and the page all show these rows. They are made of the plan as a dictionary, so that a plan that was
kept on a host shows the same as the one that was just made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core.ledger import Line
from ...core.units import gib_text


@dataclass(frozen=True)
class Table:
    """A ledger as people read it: what there is, what is taken of it, what is left. `key` is gpu or host."""

    key: str
    title: str
    capacity: Line
    lines: tuple[Line, ...]
    result: Line

    @property
    def taken_bytes(self) -> int:
        return sum(line.size_bytes for line in self.lines)


@dataclass(frozen=True)
class PoolRow:
    """One pool of one rank. `place` is GPU, RAM (the device pool of a CPU) or host cache; `slot_bytes` is None where its slots are not of one size."""

    place: str
    name: str
    kind: str
    slots: int
    slot_bytes: int | None
    size_bytes: int


def plan_tables(plan: Mapping[str, Any]) -> tuple[Table, ...]:
    """GPU memory of a rank, unless it runs on a CPU, and host memory; of `MemoryPlan.as_dict()`. A ledger that the plan lacks is left out."""
    return tuple(table for table in (_gpu_table(plan.get("gpu")), _host_table(plan.get("host"))) if table is not None)


def pool_rows(plan: Mapping[str, Any]) -> tuple[PoolRow, ...]:
    """Every pool of one rank: the engine's, then those of the host cache."""
    return (*_device_pools(plan), *_host_pools(plan.get("host_cache") or {}))


def _gpu_table(gpu: Mapping[str, Any] | None) -> Table | None:
    if not gpu or "capacity" not in gpu:
        return None
    wished = gpu.get("headroom_wished_bytes")
    return Table(
        "gpu",
        f"GPU memory of each rank at fraction {gpu['mem_fraction_static']:g}",
        _line(gpu["capacity"]),
        tuple(_line(line) for line in gpu["lines"]),
        Line(
            "free after graph capture",
            int(gpu["headroom_bytes"]),
            "headroom" if wished is None else f"headroom; at least {gib_text(wished)} must stay",
        ),
    )


def _host_table(host: Mapping[str, Any] | None) -> Table | None:
    if not host or "capacity" not in host:
        return None
    return Table(
        "host",
        "Host memory",
        _line(host["capacity"]),
        tuple(_line(line) for line in host["lines"]),
        Line("left", int(host["left_bytes"]), f"{gib_text(host['reserve_bytes'])} stay untouched"),
    )


def _line(line: Mapping[str, Any]) -> Line:
    return Line(str(line["name"]), int(line["size_bytes"]), str(line["source"]))


def _device_pools(plan: Mapping[str, Any]) -> list[PoolRow]:
    place = "RAM" if plan.get("device") == "cpu" else "GPU"
    pools, pool = plan.get("pools"), plan.get("pool")
    if pools:
        return [
            PoolRow(place, row["name"], row["kind"], row["slots"], row["slot_bytes"], row["size_bytes"])
            for row in pools
        ]
    if not pool:
        return []
    return [PoolRow(place, "KV cache", "full", pool["tokens"], pool["cell_bytes"], pool["kv_bytes"])]


def _host_pools(cache: Mapping[str, Any]) -> list[PoolRow]:
    if not cache.get("enabled"):
        return []
    pools = cache.get("pools") or [
        {"name": "KV cache", "kind": "full", "slots": cache["tokens"], "bytes": cache["bytes_per_rank"]}
    ]
    return [
        PoolRow(
            "host cache", row["name"], row["kind"], row["slots"], _slot_bytes(row["bytes"], row["slots"]), row["bytes"]
        )
        for row in pools
    ]


def _slot_bytes(size_bytes: int, slots: int) -> int | None:
    return size_bytes // slots if slots and size_bytes % slots == 0 else None
