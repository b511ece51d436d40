# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Level `journal` for engines with more than one pool: drafts, states, sliding windows, index keys, pipeline stages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.sglang.start_log import parse_start
from ansible_collections.blackwell.inference.plugins.module_utils.verify.calibration import calibration_of
from ansible_collections.blackwell.inference.plugins.module_utils.verify.journal import JournalFacts, check_journal
from ansible_collections.blackwell.inference.tests.unit.verify.design_host import (
    CELL,
    JOURNAL_FACTS,
    LINES,
    READING,
    failed,
    skipped,
    with_plan,
)

FULL = {"name": "KV cache", "kind": "full", "slots": 159294, "slot_bytes": CELL, "size_bytes": 159295 * CELL}


def pool(kind: str, slots: int, slot_bytes: int = 100) -> dict[str, Any]:
    return {"name": kind, "kind": kind, "slots": slots, "slot_bytes": slot_bytes, "size_bytes": slots * slot_bytes}


def start(
    *pools: dict[str, Any], after_pool: str = "", plan: dict[str, Any] | None = None, tp: int = 8
) -> JournalFacts:
    """The design host's start with these pools planned, and `after_pool` logged by every rank behind its KV cache."""
    lines = []
    for line in LINES:
        lines.append(line)
        if "Memory pool end" in line and after_pool:
            lines += [f"{line.partition(']')[0]}] {text}" for text in after_pool.splitlines()]
    changes = {"pools": [FULL, *pools], "parallel": {"tp": tp, "pp": 8 // tp, "dp": 1}, **(plan or {})}
    return replace(with_plan(changes, JOURNAL_FACTS), start=parse_start(lines))


DRAFT = "KV Cache is allocated. #tokens: 159277, K size: 0.30 GB, V size: 0.30 GB"
SLIDING = "Use sliding window memory pool. full_layer_tokens=159277, swa_layer_tokens=127421"
STATES = "Mamba Cache is allocated. max_mamba_cache_size: 40, conv_state size: 0.10GB, ssm_state size: 1.20GB"


@pytest.mark.parametrize(
    ("kind", "slots", "line", "seen"),
    [("draft", 159294, DRAFT, "159277"), ("draft", 300000, DRAFT, "159277"), ("draft", 159294, "", None)],
)
def test_the_drafts_pool_is_the_planned_one(kind: str, slots: int, line: str, seen: str | None) -> None:
    found = failed(check_journal(start(pool(kind, slots), after_pool=line)))
    good = seen is not None and slots == 159294
    assert list(found) == ([] if good else [f"{kind} pool of TP{rank}" for rank in range(8)])


@pytest.mark.parametrize(
    ("kind", "planned", "line", "good"),
    [
        ("sliding", 127435, SLIDING, True),
        ("sliding", 159294, SLIDING, False),
        ("state", 40, STATES, True),
        ("state", 60, STATES, False),
    ],
)
def test_pools_of_other_layers(kind: str, planned: int, line: str, good: bool) -> None:
    lines = [
        text
        for old in LINES
        for text in ([old.partition("]")[0] + "] " + line, old] if "KV Cache is" in old else [old])
    ]
    facts = replace(start(pool(kind, planned)), start=parse_start(lines))
    found = failed(check_journal(facts))
    assert list(found) == ([] if good else [f"{kind} pool of TP{rank}" for rank in range(8)])
    assert skipped(check_journal(facts))["tokens from the logged free memory"].endswith(
        "each is compared with the plan"
    )


def test_a_pool_that_is_another_says_so() -> None:
    message = failed(check_journal(start(pool("draft", 300000), after_pool=DRAFT)))["draft pool of TP3"]
    assert message == (
        "journal shows draft pool of TP3 159277 slots; 300000 slots was expected, give or take 2696 slots (the driver's own use varies from start to start). "
        "The pools beside the KV cache are not those that were planned; check the flags of speculation, sliding windows and states."
    )


def test_index_keys_count_in_the_size_that_the_log_gives() -> None:
    sparse = start(pool("indexer", 159294, 8052))
    assert set(failed(check_journal(sparse))) == {
        f"KV size of TP{rank}" for rank in range(8)
    }  # 10.42 GB are without them


def test_each_stage_has_its_ranks_and_layers() -> None:
    lines = [line.replace("TP", f"PP{number % 8 // 4} TP").replace("TP0]", "TP0]") for number, line in enumerate(LINES)]
    lines = [line if "PP1" not in line else _renumbered(line) for line in lines]
    checks = check_journal(replace(start(tp=4), start=parse_start(lines)))
    assert "ranks" not in failed(checks)
    assert skipped(checks)["KV size"].endswith("each pipeline stage has layers of its own")


def _renumbered(line: str) -> str:
    for rank in range(4, 8):
        line = line.replace(f"TP{rank}]", f"TP{rank - 4}]")
    return line


def test_side_pools_in_host_memory() -> None:
    pools = [
        {"name": "KV cache", "kind": "full", "slots": 637177, "bytes": 637177 * CELL},
        {"name": "indexer keys", "kind": "indexer", "slots": 637177, "bytes": 5_130_000_000},
    ]
    line = "Allocating 5.13 GB host memory for DSA indexer (layout=page_first)."
    planned = {"host_cache.pools": pools}
    assert failed(check_journal(start(after_pool=line, plan=planned))) == {}
    assert set(failed(check_journal(start(plan=planned)))) == {
        f"side pools in host memory of TP{rank}" for rank in range(8)
    }


@pytest.mark.parametrize(
    ("first", "last"), [("21.71", "19.11"), ("21.71", "21.71")], ids=["loaded before the pools", "loaded after them"]
)
def test_a_draft_is_measured_apart_from_the_target(first: str, last: str) -> None:
    """Since 0.5.14 the draft is loaded before the pools are sized, before that after them."""
    draft = f"Load weight end. type=LlamaForCausalLMEagle3, avail mem={last} GB, mem usage=2.60 GB."
    marker = "Load weight end" if last != first else "Memory pool end"
    lines = [
        text for old in LINES for text in ([old, old.partition("]")[0] + "] " + draft] if marker in old else [old])
    ]
    figures = calibration_of(start().planned, "0.5.9", replace(READING, journal=parse_start(lines)))
    assert figures is not None
    gib = {
        name: round(figures[name] / 2**30, 2)
        for name in ("free_before_load_bytes", "free_after_load_bytes", "draft_weights_bytes")
    }
    assert gib == {"free_before_load_bytes": 94.04, "free_after_load_bytes": 21.71, "draft_weights_bytes": 2.60}
