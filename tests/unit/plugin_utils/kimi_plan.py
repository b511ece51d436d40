# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan as memory_plan returns it, with all that a reader is shown."""

from __future__ import annotations

from typing import Any

GIB = 1 << 30


def line(name: str, gib: float, source: str) -> dict[str, Any]:
    return {"name": name, "size_bytes": int(gib * GIB), "source": source}


def choice(name: str, value: Any, by: str, why: str) -> dict[str, Any]:
    return {"name": name, "value": value, "by": by, "why": why, "costs": "something"}


PLAN: dict[str, Any] = {
    "schema": 1,
    "engine": {"version": "0.5.9", "dialect": "0.5.9"},
    "device": "cuda",
    "ranks": 8,
    "model": {"name": "kimi-k2.5", "identity": "a1"},
    "gpu": {
        "mem_fraction_static": 0.88,
        "headroom_bytes": int(5.53 * GIB),
        "headroom_wished_bytes": int(0.88 * GIB),
        "capacity": line("free on the poorest of 8 cards", 94.97, "nvml"),
        "lines": [
            line("weights", 72.33, "profile: 2026-02-24 on 8 RTX PRO 6000"),
            line("padding page", 0.004, "plan"),
            line("request table", 2.0, "plan: 2,048 requests"),
        ],
    },
    "host": {
        "capacity": line("available memory before the start", 445, "meminfo"),
        "lines": [line("8 rank processes", 32, "measured: 2026-02-24 on the design host, 4 GiB for each")],
        "left_bytes": int(53.97 * GIB),
        "reserve_bytes": 10 * GIB,
        "available_after_start_bytes": int(53.97 * GIB),
    },
    "pool": {"tokens": 159294, "cell_bytes": 70272, "kv_bytes": 159294 * 70272},
    "concurrency": {"request_tokens": 4000, "requests": 39, "max_running_requests": 2048},
    "host_cache": {
        "enabled": True,
        "tokens": 683061,
        "bytes_per_rank": 48 * 10**9,
        "bytes_total": 384 * 10**9,
        "size_gb": 48,
        "ratio": None,
    },
    "start": {"estimate_seconds": 779, "load_seconds": 274, "pin_seconds": 385, "other_seconds": 120},
    "choices": [
        choice("mem_fraction_static", 0.88, "operator", "leaves 5.53 GiB free"),
        choice("hicache_size", 48, "operator", "683,061 tokens on each rank"),
        choice("cuda_graph_max_bs", 512, "engine", "the default of SGLang 0.5.9 for this card"),
        choice("max_running_requests", 32, "plan", "for the target long_context"),
    ],
    "refusals": [],
    "forced": [],
    "notes": ["The context length is 262,144 and the pool holds 159,294 tokens: the engine rejects longer requests."],
}
