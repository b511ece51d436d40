# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Planned beside measured, figure by figure."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB, gib_to_bytes
from ansible_collections.blackwell.inference.plugins.plugin_utils.page.measured import (
    Pair,
    available_seen,
    planned_beside_measured,
)

MEASURED = {
    "measured": "journal 2026-02-24",
    "ranks": 8,
    "tokens": 159277,
    "max_running_requests": 2048,
    "kv_bytes": gib_to_bytes("10.42"),
    "host_cache_bytes_per_rank": 44_770_000_000,
    "start_seconds": 660.0,
    "free_before_load_bytes": gib_to_bytes("94.04"),
    "free_after_load_bytes": gib_to_bytes("21.71"),
    "graph_bytes": gib_to_bytes("3.75"),
    "free_after_graphs_bytes": gib_to_bytes("5.47"),
}
AVAILABLE = {"name": "MemAvailable", "outcome": "passed", "expected": 78 * GIB, "seen": 77 * GIB}


def verdict(*checks):
    return {"levels": [{"level": "host_memory", "passed": True, "checks": list(checks)}]}


def test_planned_beside_measured(plan):
    pairs = planned_beside_measured(plan(hicache_ratio=4.0).as_dict(), MEASURED, verdict(AVAILABLE))
    assert {pair.what: pair.difference for pair in pairs} == {
        "free before the weights are loaded": "none",
        "weights": "none",
        "KV cache": "-0.01 GiB (-0.05\N{NO-BREAK SPACE}%)",
        "graphs": "none",
        "free after graph capture": "-0.06 GiB (-1.17\N{NO-BREAK SPACE}%)",
        "tokens of a rank": "-17 tokens (-0.01\N{NO-BREAK SPACE}%)",
        "requests that may run": "none",
        "host cache of a rank": "-0.01 GB (-0.01\N{NO-BREAK SPACE}%)",
        "available on the host": "-0.99 GiB (-1.28\N{NO-BREAK SPACE}%)",
        "start": "-93 s (-12.35\N{NO-BREAK SPACE}%)",
    }


def test_nothing_measured_is_beside_nothing(plan):
    assert planned_beside_measured(plan().as_dict(), None, None) == ()


def test_a_cpu_is_compared_by_what_it_has(plan):
    figures = {"tokens": 159294, "start_seconds": 800, "measured": "journal 2026-02-24"}
    pairs = planned_beside_measured(plan().as_dict() | {"gpu": None}, figures)
    assert [pair.what for pair in pairs] == ["tokens of a rank", "start"]


def test_a_difference_from_nothing_has_no_share():
    assert Pair("graphs", 0, 3, lambda amount: f"{amount} B").difference == "+3 B"


@pytest.mark.parametrize(
    ("seen", "found"),
    [(None, None), (verdict(), None), (verdict({**AVAILABLE, "seen": None}), None), (verdict(AVAILABLE), 77 * GIB)],
    ids=["no verdict", "not looked at", "not seen", "seen"],
)
def test_memory_that_the_verification_saw(seen, found):
    assert available_seen(seen) == found
