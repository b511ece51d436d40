# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Level `journal`: one wrong number fails by its name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.verify.journal import JournalFacts, check_journal
from ansible_collections.blackwell.inference.tests.unit.verify.design_host import (
    JOURNAL_FACTS,
    PLAN,
    failed,
    skipped,
    with_line,
    with_plan,
)

RESTART = "The journal and the plan speak of different starts; deploy again, which restarts the server."


def test_the_design_hosts_start_is_what_was_planned() -> None:
    checks = check_journal(JOURNAL_FACTS)
    assert failed(checks) == {}
    assert skipped(checks) == {}


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("The server is fired up", "The server is", ["fired-up line"]),
        ("TP5] Load weight end", "TP5] Load weight", ["ranks"]),
        (
            "max_total_num_tokens=159277",
            "max_total_num_tokens=159000",
            [
                "max_total_num_tokens of the answering server",
                *(f"pool tokens of TP{rank}" for rank in range(8)),
                "tokens from the logged free memory",
                *(f"host pool of TP{rank}" for rank in range(8)),
            ],
        ),
        ("TP3] KV Cache is allocated. #tokens: 159277", "TP3] KV Cache is allocated. #tokens: 159276", ["pool tokens of TP3"]),
        ("avail mem=94.04", "avail mem=94.14", ["tokens from the logged free memory"]),
        ("TP2] Load weight end. type=KimiK25ForConditionalGeneration, dtype=torch.bfloat16, avail mem=21.71", "TP2] Load weight end. avail mem=21.69",
         ["tokens from the logged free memory"]),
        ("TP6] KV Cache is allocated. #tokens: 159277, KV size: 10.42", "TP6] KV Cache is allocated. #tokens: 159277, KV size: 10.44", ["KV size of TP6"]),
        ("TP1] Capture cuda graph end. Time elapsed: 30.10 s. mem usage=3.75", "TP1] Capture cuda graph end. mem usage=3.90", ["graph memory"]),
        ("avail mem=5.47 GB.", "avail mem=5.37 GB.", ["GPU memory free after the start"]),
        ("TP7] Allocating 44.77", "TP7] Allocating 44.76", ["host pool of TP7"]),
        ("TP7] Allocating", "TP7] Promising", ["host pool of TP7"]),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 40 else "",
)  # fmt: skip
def test_one_wrong_number_fails_by_name(old: str, new: str, names: list[str]) -> None:
    assert list(failed(check_journal(with_line(old, new)))) == names


@pytest.mark.parametrize(
    ("old", "new", "name", "message"),
    [
        (
            "TP7] Allocating 44.77",
            "TP7] Allocating 48.00",
            "host pool of TP7",
            "journal shows host pool of TP7 48.00 GB; 44.77 GB was expected, give or take 0.01 GB (the log prints GB with two decimals). "
            "The host cache is not what was planned: check hicache_size, hicache_ratio and page_size, and what else takes host memory.",
        ),
        (
            "TP5] Load weight end",
            "TP5] Load",
            "ranks",
            f"journal shows ranks TP0, TP1, TP2, TP3, TP4, TP6, TP7; TP0, TP1, TP2, TP3, TP4, TP5, TP6, TP7 was expected. {RESTART}",
        ),
        (
            "avail mem=5.47 GB.",
            "avail mem=0.82 GB.",
            "GPU memory free after the start",
            "journal shows GPU memory free after the start 0.82 GiB; at least 5.40 GiB was expected, which is the planned headroom less 0.12 GiB "
            "(the graphs were measured at an earlier start). The first large prefill may run out of memory: "
            "lower mem_fraction_static, cuda_graph_max_bs or max_running_requests.",
        ),
        (
            "avail mem=94.04",
            "avail mem=90.04",
            "tokens from the logged free memory",
            "journal shows tokens from the logged free memory 159277 tokens; 166629 tokens was expected, give or take 87 tokens "
            "(the log prints free memory with two decimals). "
            "The pool does not follow from the memory that was free: a draft model, another fraction or another KV type is in use than was planned.",
        ),
        (
            "Load weight begin. avail mem=94.04 GB",
            "Load weight begin.",
            "tokens from the logged free memory",
            f"journal shows no tokens from the logged free memory; free memory before and after the load, and the tokens, were expected. {RESTART}",
        ),
    ],
    ids=lambda value: value[:30],
)
def test_a_failure_is_a_sentence(old: str, new: str, name: str, message: str) -> None:
    assert failed(check_journal(with_line(old, new)))[name] == message


def test_the_pool_of_a_draft_model_beside_it_does_not_mislead() -> None:
    old = "[2026-02-24 10:05:00 TP3] Capture"
    draft = "[2026-02-24 10:04:30 TP3] KV Cache is allocated. #tokens: 159277, K size: 0.30 GB, V size: 0.30 GB\n"
    assert failed(check_journal(with_line(old, draft + old))) == {}


def test_a_headroom_that_was_forced_is_the_planned_one() -> None:
    tight = with_line("avail mem=5.47 GB.", "avail mem=0.82 GB.")
    assert failed(check_journal(with_plan({"gpu.headroom_bytes": 891_000_000}, tight))) == {}


@pytest.mark.parametrize(
    ("source", "tokens", "fails"),
    [
        ("measured: 2026-02-24", 157_900, False),
        ("measured: 2026-02-24", 157_800, True),
        ("estimate: 3 % replicated", 120_000, False),
        ("estimate: 3 % replicated", 110_000, True),
    ],
    ids=["measured, near", "measured, far", "estimated, near", "estimated, far"],
)  # fmt: skip
def test_an_estimated_plan_may_be_further_off_than_a_measured_one(source: str, tokens: int, fails: bool) -> None:
    lines = [dict(line, source=source) if line["name"] == "weights" else line for line in PLAN["gpu"]["lines"]]
    facts = with_plan({"gpu.lines": lines, "pool.tokens": tokens}, JOURNAL_FACTS)
    assert ("max_total_num_tokens" in failed(check_journal(facts))) is fails


def test_a_pool_that_was_capped_is_exactly_the_cap() -> None:
    facts = with_plan({"pool.tokens": 159_276, "arguments.max-total-tokens": 159_276}, JOURNAL_FACTS)
    assert failed(check_journal(facts))["max_total_num_tokens"].startswith(
        "journal shows max_total_num_tokens 159277 tokens; 159276 tokens was expected, give or take 0 tokens (it was asked for)."
    )


def test_the_host_pool_follows_the_tokens_that_this_start_really_has() -> None:
    facts = with_line("#tokens: 159277, KV size: 10.42", "#tokens: 158477, KV size: 10.37")
    facts = replace(facts, start=replace(facts.start, totals=replace(facts.start.totals, tokens=158_477)))  # type: ignore[type-var]
    assert failed(check_journal(facts))["host pool of TP0"].startswith(
        "journal shows host pool of TP0 44.77 GB; 44.55 GB was expected"
    )


def test_a_size_makes_the_pool_whatever_the_tokens() -> None:
    facts = with_plan(
        {"arguments.hicache-size": 48, "host_cache.tokens": 683_061, "host_cache.bytes_per_rank": 683_061 * 70272},
        JOURNAL_FACTS,
    )
    assert failed(check_journal(facts))["host pool of TP0"].startswith(
        "journal shows host pool of TP0 44.77 GB; 48.00 GB was expected"
    )


FULL = "[2026-02-24 10:05:01 TP0] Allocating 44.77 GB host memory for hierarchical KV cache."
SLIDING = FULL.replace("44.77", "9.00")
POOLS = [
    {"name": "KV cache", "kind": "full", "slots": 637_177, "bytes": 637_177 * 70272},
    {"name": "sliding-window KV cache", "kind": "sliding", "slots": 509_741, "bytes": 9_000_000_000},
    {"name": "state pool", "kind": "state", "slots": 401, "bytes": 1_203_000_000},
]


def test_each_pool_of_a_rank_is_compared_with_the_one_planned_at_its_place() -> None:
    facts = with_plan({"host_cache.pools": POOLS}, with_line(FULL, f"{FULL}\n{SLIDING}"))
    found = failed(check_journal(facts))
    assert set(found) == {
        *(f"host pool (sliding-window KV cache) of TP{rank}" for rank in range(1, 8)),
        *(f"side pools in host memory of TP{rank}" for rank in range(8)),
    }
    assert found["host pool (sliding-window KV cache) of TP1"].startswith(
        "journal shows no host pool (sliding-window KV cache) of TP1; 9.00 GB was expected"
    )


def test_a_second_pool_of_another_size_is_named() -> None:
    larger = FULL.replace("44.77", "9.10")
    facts = with_plan({"host_cache.pools": POOLS}, with_line(FULL, f"{FULL}\n{larger}"))
    assert failed(check_journal(facts))["host pool (sliding-window KV cache) of TP0"].startswith(
        "journal shows host pool (sliding-window KV cache) of TP0 9.10 GB; 9.00 GB was expected"
    )


def test_a_host_cache_that_nobody_planned() -> None:
    facts = with_plan({"host_cache": {"enabled": False, "page_size": 1}}, JOURNAL_FACTS)
    assert failed(check_journal(facts)) == {
        "host pools": "journal shows host pools 8; 0 was expected. A host cache was allocated that nobody planned; deploy again, which restarts the server."
    }


def test_a_cpu_has_no_gpu_lines() -> None:
    facts = with_plan({"device": "cpu", "gpu": None}, JOURNAL_FACTS)
    assert skipped(check_journal(facts)) == dict.fromkeys(
        ["tokens from the logged free memory", "graph memory", "GPU memory free after the start"], "skipped: device cpu"
    )


def test_a_journal_that_lost_its_start_is_said_to_have() -> None:
    facts: JournalFacts = replace(JOURNAL_FACTS, start_rotated=True)
    assert skipped(check_journal(facts)) == {
        "start": "skipped: the journal keeps later lines of this invocation, but no longer those of its start"
    }


def test_an_empty_journal_is_a_failure() -> None:
    facts = replace(JOURNAL_FACTS, start=type(JOURNAL_FACTS.start)())
    assert {"fired-up line", "ranks", "max_total_num_tokens"} <= set(failed(check_journal(facts)))
