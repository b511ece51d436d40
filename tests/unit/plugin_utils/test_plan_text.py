# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan between the lines of a play: narrow, and without what nobody asked for."""

from __future__ import annotations

from ansible_collections.blackwell.inference.plugins.plugin_utils.plan_text import plan_lines
from ansible_collections.blackwell.inference.tests.unit.plugin_utils.kimi_plan import PLAN

HEAD = "kimi-k2.5 on SGLang 0.5.9 (dialect 0.5.9), cuda, 8 ranks"
SENTENCES = [
    "Pool: 159,294 tokens on each rank, enough for 39 requests of 4,000 tokens at once",
    "Host cache: hicache_size 48: 683,061 tokens, 48.00 GB on each rank, 384.00 GB in all",
    "Host after the start: 53.97 GiB available",
    "Start: about 779 s (weights 274, pinning 385, the rest 120)",
]
LAST = {
    "model": {"identity": "a1"},
    "engine_version": "0.5.9",
    "ranks": 8,
    "host_cache_bytes_per_rank": 48 * 10**9,
    "start_seconds": 431.2,
}


def test_the_plan_is_told_whole_in_a_hundred_columns():
    assert plan_lines(PLAN, {}) == [
        HEAD,
        "GPU memory of each rank at fraction 0.88             GiB  source",
        "  free on the poorest of 8 cards                   94.97  nvml",
        "  - weights                                        72.33  profile: 2026-02-24 on 8 RTX PRO 6000",
        "  - request table                                   2.00  plan: 2,048 requests",
        "  = free after graph capture                        5.53  headroom; at least 0.88 GiB must stay",
        "Host memory                                          GiB  source",
        "  available memory before the start               445.00  meminfo",
        "  - 8 rank processes                               32.00  measured: 2026-02-24 on the design host, 4",
        "                                                          GiB for each",
        "  = left                                           53.97  10.00 GiB stay untouched",
        *SENTENCES,
        "As asked: mem_fraction_static 0.88, hicache_size 48",
        "Chosen: max_running_requests 32 (for the target long_context)",
        "Note: The context length is 262,144 and the pool holds 159,294 tokens: the engine rejects longer",
        "  requests.",
    ]
    assert max(map(len, plan_lines(PLAN, {}))) <= 100


def test_a_name_that_is_too_long_for_its_column_is_cut():
    host = {**PLAN["host"], "lines": [{"name": "a " * 40, "size_bytes": 1 << 30, "source": "x" * 150}]}
    lines = plan_lines({**PLAN, "host": host}, {})
    assert max(map(len, lines)) <= 100
    assert any(line.startswith("  - a a a") and " … " in line and line.endswith("x" * 42) for line in lines)


def test_a_plan_of_the_last_run_is_told_in_short():
    assert plan_lines(PLAN, LAST, unchanged=True) == [
        HEAD,
        *SENTENCES[:-1],
        "Start: about 779 s (weights 274, pinning 385, the rest 120); the last one took 431 s",
        "The plan is the one of the last run; its tables are in plan.txt and plan.html on the host.",
    ]


def test_what_was_refused_is_left_to_the_sentence_below_and_what_was_forced_is_told():
    refusals = [{"name": name, "message": f"{name} is too small."} for name in ("headroom", "host_memory")]
    lines = plan_lines({**PLAN, "refusals": refusals, "forced": ["headroom"]}, {})
    assert "Forced (headroom): headroom is too small." in lines
    assert not any("host_memory" in line for line in lines)


def test_a_plan_for_a_cpu_without_choices_has_one_table():
    lines = plan_lines({**PLAN, "gpu": None, "device": "cpu", "choices": [], "notes": []}, {})
    assert [line for line in lines if "GPU" in line or "As asked" in line] == []
    assert lines[1].startswith("Host memory")
