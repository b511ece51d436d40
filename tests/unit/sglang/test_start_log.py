# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a start allocated, read from its log."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import gb_to_bytes, gib_to_bytes
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.log_lines import split_lines
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.start_log import (
    LoggedHostPool,
    LoggedPool,
    Sliding,
    States,
    parse_start,
)

RECORDINGS = Path(__file__).parents[2] / "data" / "sglang"
T = "[2026-02-24 10:00:00 TP0]"
TARGET = f"{T} KV Cache is allocated. #tokens: 159277, KV size: 10.42 GB"
DRAFT = f"{T} KV Cache is allocated. #tokens: 159277, K size: 0.30 GB, V size: 0.30 GB"
LOAD = f"{T} Load weight end. type=X, dtype=torch.bfloat16, avail mem=21.71 GB, mem usage=72.33 GB."
DRAFT_LOAD = f"{T} Load weight end. type=Y, dtype=torch.bfloat16, avail mem=8.10 GB, mem usage=1.10 GB."


@pytest.mark.parametrize(
    ("version", "host_pool"),
    [("0.5.9", LoggedHostPool(0, None)), ("0.5.23", LoggedHostPool(0, 16400, "kv"))],
    ids=["0.5.9", "0.5.23"],
)
def test_the_recorded_start_on_a_cpu(version: str, host_pool: LoggedHostPool) -> None:
    start = parse_start(split_lines((RECORDINGS / version / "cpu-llama-hicache" / "journal.log").read_bytes().decode()))
    (rank,) = start.ranks
    assert (rank.name, rank.pools, rank.host_pools) == ("TP0", (LoggedPool(2048, 0, 2),), (host_pool,))
    assert start.totals is not None
    assert (start.totals.tokens, start.totals.context_length, start.totals.device) == (2048, 2048, "cpu")
    assert start.fired_up
    assert start.free_after_graphs_bytes is None  # a CPU has no graphs


def test_the_recorded_latent_cache_has_one_size_and_a_host_pool_of_its_own() -> None:
    """tiny-deepseek: 480 bytes a token; --hicache-size 1 makes 10^9 // 480 + 1 tokens of it."""
    text = (RECORDINGS / "0.5.23" / "cpu-deepseek-hicache" / "journal.log").read_bytes().decode()
    (rank,) = parse_start(split_lines(text)).ranks
    assert rank.pool == LoggedPool(4096, 0, 1)
    assert rank.host_pool == LoggedHostPool(gb_to_bytes("1.00"), 2_083_334, "kv")


def test_sizes_on_the_gpu_are_gib_and_in_host_memory_gb() -> None:
    start = parse_start([LOAD, TARGET, f"{T} Allocating 44.77 GB host memory for hierarchical KV cache."])
    (rank,) = start.ranks
    assert rank.weights_bytes == gib_to_bytes("72.33")
    assert rank.pool == LoggedPool(159277, gib_to_bytes("10.42"), 1)
    assert rank.host_pool == LoggedHostPool(gb_to_bytes("44.77"), None)


@pytest.mark.parametrize("pools", [[TARGET, DRAFT], [DRAFT, TARGET]], ids=["draft last", "draft first"])
def test_the_pool_of_a_draft_is_not_the_targets(pools: list[str]) -> None:
    (rank,) = parse_start(pools).ranks
    assert rank.pool == LoggedPool(159277, gib_to_bytes("10.42"), 1)


@pytest.mark.parametrize(
    ("lines", "free"),
    [([LOAD, TARGET, DRAFT_LOAD, DRAFT], "21.71"), ([LOAD, DRAFT_LOAD, TARGET, DRAFT], "8.10")],
    ids=["draft after the pool, to 0.5.13", "draft before the pool, from 0.5.14"],
)
def test_what_was_free_when_the_pool_was_sized(lines: list[str], free: str) -> None:
    (rank,) = parse_start(lines).ranks
    assert rank.free_after_load_bytes == gib_to_bytes(free)
    assert rank.weights_bytes == gib_to_bytes("72.33")


def test_a_size_may_be_negative() -> None:
    (rank,) = parse_start([LOAD.replace("72.33", "-0.01")]).ranks
    assert rank.weights_bytes == gib_to_bytes("-0.01")


def test_the_poorest_rank_decides_what_is_free() -> None:
    graph = "Capture cuda graph end. Time elapsed: 30.10 s. mem usage=3.75 GB. avail mem={} GB."
    lines = [f"[2026-02-24 10:00:00 TP{rank}] {graph.format(free)}" for rank, free in enumerate(["5.47", "5.11"])]
    start = parse_start(lines)
    assert start.free_after_graphs_bytes == gib_to_bytes("5.11")
    assert [rank.graph_bytes for rank in start.ranks] == [gib_to_bytes("3.75")] * 2


END = f"{T} Memory pool end. avail mem={{}} GB"
GRAPH = f"{T} Capture {{}} end. elapsed=3.1 s, mem usage={{}} GB, avail mem=5.00 GB."


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([LOAD, TARGET, END.format("9.22"), DRAFT_LOAD, DRAFT, END.format("7.50")], id="to 0.5.13"),
        pytest.param([LOAD, DRAFT_LOAD, TARGET, END.format("9.22"), DRAFT, END.format("7.50")], id="from 0.5.14"),
    ],
)
def test_what_a_draft_takes_stands_apart(lines: list[str]) -> None:
    (rank,) = parse_start(lines).ranks
    assert (rank.weights_bytes, rank.draft_weights_bytes) == (gib_to_bytes("72.33"), gib_to_bytes("1.10"))
    assert rank.pools == (LoggedPool(159277, gib_to_bytes("10.42"), 1),)
    assert rank.draft_pools == (LoggedPool(159277, 2 * gib_to_bytes("0.30"), 2),)
    assert rank.pool_end_free_bytes == gib_to_bytes("9.22")


def test_a_draft_that_is_larger_is_still_a_draft() -> None:
    """DFLASH: five dense layers of a draft beside a small latent target."""
    large = f"{T} KV Cache is allocated. #tokens: 159277, K size: 9.00 GB, V size: 9.00 GB"
    (rank,) = parse_start([LOAD, TARGET, END.format("30.00"), DRAFT_LOAD, large, END.format("12.00")]).ranks
    assert rank.pool == LoggedPool(159277, gib_to_bytes("10.42"), 1)


def test_without_a_draft_there_are_no_figures_of_one() -> None:
    (rank,) = parse_start([LOAD, TARGET, END.format("9.22")]).ranks
    assert (rank.draft_weights_bytes, rank.draft_pools, rank.states, rank.sliding, rank.sliding_pool) == (
        None,
        (),
        None,
        None,
        None,
    )


SLIDING = f"{T} Use sliding window memory pool. full_layer_tokens=1000, swa_layer_tokens=800"
DTYPE = "is allocated. dtype: torch.bfloat16, #tokens:"


@pytest.mark.parametrize(
    ("lines", "labels"),
    [
        (
            [f"{T} Full KV Cache {DTYPE} 1000, KV size: 1.00 GB", f"{T} SWA KV Cache {DTYPE} 800, KV size: 3.00 GB"],
            ("Full", "SWA"),
        ),
        ([f"{T} KV Cache {DTYPE} 800, KV size: 3.00 GB", f"{T} KV Cache {DTYPE} 1000, KV size: 1.00 GB"], (None, None)),
    ],
    ids=["labelled, from 0.5.17", "told by their tokens, to 0.5.16"],
)
def test_the_pools_of_a_sliding_window_hybrid(lines: list[str], labels: tuple[str | None, str | None]) -> None:
    (rank,) = parse_start([LOAD, SLIDING, *lines, END.format("9.22")]).ranks
    assert rank.sliding == Sliding(1000, 800)
    assert rank.pool == LoggedPool(1000, gib_to_bytes("1.00"), 1, labels[0])
    assert rank.sliding_pool == LoggedPool(800, gib_to_bytes("3.00"), 1, labels[1])


def test_a_model_of_sliding_layers_alone() -> None:
    only = f"{T} Use sliding window memory pool (all SWA). swa_layer_tokens=800"
    (rank,) = parse_start([LOAD, only, f"{T} KV Cache {DTYPE} 800, KV size: 3.00 GB"]).ranks
    assert rank.sliding == Sliding(None, 800)
    assert rank.pool == LoggedPool(800, gib_to_bytes("3.00"), 1)
    assert rank.sliding_pool is None


@pytest.mark.parametrize(
    ("more", "draft"),
    [
        ("", "0"),
        ("intermediate_ssm_state_cache size: 1.50GB intermediate_conv_window_cache size: 0.02GB ", "1.52"),
    ],
    ids=["plain", "with states between the steps of a draft"],
)
def test_the_state_pool_of_a_hybrid(more: str, draft: str) -> None:
    line = f"{T} Mamba Cache is allocated. max_mamba_cache_size: 115, conv_state size: 0.06GB, ssm_state size: 2.01GB {more}"
    (rank,) = parse_start([LOAD, line, TARGET]).ranks
    assert rank.states == States(
        115, gib_to_bytes("0.06") + gib_to_bytes("2.01"), pytest.approx(gib_to_bytes(draft), abs=1)
    )
    assert rank.free_after_load_bytes == gib_to_bytes("21.71")


def test_graphs_say_whose_they_are() -> None:
    names = ["cuda graph", "draft extend cuda graph", "piecewise CUDA graph", "target prefill CUDA graph"]
    names += ["target verify CUDA graph", "draft decode CUDA graph", "draft prefill CUDA graph"]
    (rank,) = parse_start([GRAPH.format(name, "0.50") for name in names]).ranks
    assert [graph.kind for graph in rank.graphs] == [
        "decode",
        "draft",
        "prefill",
        "prefill",
        "decode",
        "draft",
        "draft",
    ]
    assert rank.graph_bytes == 7 * gib_to_bytes("0.50")


def test_pools_in_host_memory_beside_the_cache_are_not_it() -> None:
    (rank,) = parse_start(
        [
            f"{T} Allocating draft hierarchical KV host pool: 100 tokens, 50.00 GB host memory.",
            f"{T} Allocating kv hierarchical KV host pool: 100 tokens, 44.77 GB host memory.",
            f"{T} Allocating 60.00 GB host memory for hierarchical Mamba cache (230 state slots, layout=page_first).",
            f"{T} Allocating 3.00 GB host memory for DSA indexer (layout=page_first).",
        ]
    ).ranks
    assert rank.host_pool == LoggedHostPool(gb_to_bytes("44.77"), 100, "kv")
    assert rank.host_side_pools == (
        LoggedHostPool(gb_to_bytes("60.00"), 230, "hierarchical Mamba cache"),
        LoggedHostPool(gb_to_bytes("3.00"), None, "DSA indexer"),
    )
