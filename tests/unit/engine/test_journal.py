# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a start allocated, read from its log."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import gb_to_bytes, gib_to_bytes
from ansible_collections.blackwell.inference.plugins.module_utils.engine.journal import HostPool, Pool, parse_start
from ansible_collections.blackwell.inference.plugins.module_utils.engine.log_lines import split_lines

RECORDINGS = Path(__file__).parents[2] / "data" / "sglang"
T = "[2026-02-24 10:00:00 TP0]"
TARGET = f"{T} KV Cache is allocated. #tokens: 159277, KV size: 10.42 GB"
DRAFT = f"{T} KV Cache is allocated. #tokens: 159277, K size: 0.30 GB, V size: 0.30 GB"
LOAD = f"{T} Load weight end. type=X, dtype=torch.bfloat16, avail mem=21.71 GB, mem usage=72.33 GB."
DRAFT_LOAD = f"{T} Load weight end. type=Y, dtype=torch.bfloat16, avail mem=8.10 GB, mem usage=1.10 GB."


@pytest.mark.parametrize(
    ("version", "host_pool"), [("0.5.9", HostPool(0, None)), ("0.5.23", HostPool(0, 16400))], ids=["0.5.9", "0.5.23"]
)
def test_the_recorded_start_on_a_cpu(version: str, host_pool: HostPool) -> None:
    start = parse_start(split_lines((RECORDINGS / version / "cpu-llama-hicache" / "journal.log").read_bytes().decode()))
    (rank,) = start.ranks
    assert (rank.name, rank.pools, rank.host_pools) == ("TP0", (Pool(2048, 0, 2),), (host_pool,))
    assert start.totals is not None
    assert (start.totals.tokens, start.totals.context_length, start.totals.device) == (2048, 2048, "cpu")
    assert start.fired_up
    assert start.free_after_graphs_bytes is None  # a CPU has no graphs


def test_the_recorded_latent_cache_has_one_size_and_a_host_pool_of_its_own() -> None:
    """tiny-deepseek: 480 bytes a token; --hicache-size 1 makes 10^9 // 480 + 1 tokens of it."""
    text = (RECORDINGS / "0.5.23" / "cpu-deepseek-hicache" / "journal.log").read_bytes().decode()
    (rank,) = parse_start(split_lines(text)).ranks
    assert rank.pool == Pool(4096, 0, 1)
    assert rank.host_pool == HostPool(gb_to_bytes("1.00"), 2_083_334)


def test_sizes_on_the_gpu_are_gib_and_in_host_memory_gb() -> None:
    start = parse_start([LOAD, TARGET, f"{T} Allocating 44.77 GB host memory for hierarchical KV cache."])
    (rank,) = start.ranks
    assert rank.weights_bytes == gib_to_bytes("72.33")
    assert rank.pool == Pool(159277, gib_to_bytes("10.42"), 1)
    assert rank.host_pool == HostPool(gb_to_bytes("44.77"), None)


@pytest.mark.parametrize("pools", [[TARGET, DRAFT], [DRAFT, TARGET]], ids=["draft last", "draft first"])
def test_the_pool_of_a_draft_is_not_the_targets(pools: list[str]) -> None:
    (rank,) = parse_start(pools).ranks
    assert rank.pool == Pool(159277, gib_to_bytes("10.42"), 1)


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
