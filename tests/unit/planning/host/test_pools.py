# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host pools' sizes, as the engine's own classes give them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GB
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.pools import (
    DevicePools,
    Pool,
    RunningRequests,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.host.pools import (
    HostCacheOptions,
    HostPool,
    host_cache,
    host_pools,
    largest_size_gb,
)
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.dialect import sizing_rules
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.version import EngineVersion

KIMI = 70272
REQUESTS = RunningRequests(48, 49, 0)
VERSIONS = ["0.5.5", "0.5.6", "0.5.9", "0.5.10", "0.5.13", "0.5.16", "0.5.17", "0.5.18", "0.5.21", "0.5.23"]


def rules(version):
    return sizing_rules(EngineVersion.parse(version))


def device(*pools):
    return DevicePools(pools[0].slots, pools[0].slots, REQUESTS, pools)


def kv(tokens, row=KIMI, page=1):
    return Pool("KV cache", "full", tokens, row, page)


# Qwen3.5-397B-A17B at tp 8: 15 full layers of 2 heads of 256, 45 gated delta nets (public config.json).
QWEN = device(kv(300_000, 15_360), Pool("state pool", "state", 200, 3_000_000, 1))
GPT = device(kv(400_000, 9_216, 64), Pool("sliding-window KV cache", "sliding", 320_000, 9_216, 64))
DEEPSEEK = device(kv(100_032, KIMI, 64), Pool("indexer keys", "indexer", 100_032, 61 * 132, 64))
DRAFTED = device(kv(159_277), Pool("draft KV cache", "draft", 159_277, 1_152, 1))


@pytest.mark.parametrize(
    ("tokens", "row", "page", "size", "ratio", "slots"),
    [
        pytest.param(159277, KIMI, 1, None, 4.0, 637109, id="ratio 4.0 on the design host, one page more"),
        pytest.param(159277, KIMI, 1, 48, None, 683061, id="48 GB"),
        pytest.param(159277, KIMI, 1, 48, 4.0, 683061, id="a size beats a ratio"),
        pytest.param(159277, KIMI, 64, None, 4.0, 637120, id="pages of 64"),
        pytest.param(1000, KIMI, 1, None, 2.0, 2001, id="a small pool"),
        pytest.param(2048, 256, 16, None, 8.0, 16400, id="0.5.23 on a CPU, ratio 8, pages of 16"),
        pytest.param(40000, 256, 16, None, 2.0, 80016, id="0.5.23 on a CPU with two ranks"),
        pytest.param(40000, 480, 1, 1, None, 2083334, id="1 GB of a tiny MLA model"),
        pytest.param(1000, KIMI, 1, None, 1.5, 1501, id="a fraction of a token does not count"),
    ],
)
@pytest.mark.parametrize("version", ["0.5.6", "0.5.9", "0.5.23"])
def test_tokens(version, tokens, row, page, size, ratio, slots):
    (pool,) = host_pools(device(kv(tokens, row)), HostCacheOptions(size, ratio, page), rules(version))
    assert (pool.name, pool.kind, pool.slots, pool.slot_bytes) == ("KV cache", "full", slots, row)


@pytest.mark.parametrize(
    ("page", "size", "ratio", "slots"), [(1, None, 4.0, 637108), (64, None, 4.0, 637056), (64, 48, None, 683008)]
)
def test_0_5_5_rounds_down_to_whole_pages(page, size, ratio, slots):
    (pool,) = host_pools(device(kv(159_277)), HostCacheOptions(size, ratio, page), rules("0.5.5"))
    assert pool.slots == slots


def test_gigabytes_are_decimal():
    (by_ratio,) = host_pools(device(kv(159_277)), HostCacheOptions(None, 4.0), rules("0.5.9"))
    (by_size,) = host_pools(device(kv(159_277)), HostCacheOptions(48), rules("0.5.9"))
    assert by_ratio.size_bytes / GB == pytest.approx(44.7709, abs=5e-5)
    assert by_size.size_bytes / GB == pytest.approx(48.0001, abs=5e-5)


def test_a_cache_says_only_what_the_engine_will_be_told():
    both = host_cache((device(kv(159_277)),), 8, HostCacheOptions(48, 4.0), rules("0.5.9"))
    assert (both.size_gb, both.ratio) == (48, None)
    assert both.bytes_total == 8 * both.bytes_per_rank == 8 * 683_061 * KIMI


@pytest.mark.parametrize(
    ("version", "gigabytes"),
    [
        ("0.5.10", [20.0, 20.0]),
        ("0.5.16", [20.0, 20.0]),
        # 20 GB in the proportion of 300,001 x 15,360 to 201 x 3,000,000 bytes
        ("0.5.17", [17.685, 2.315]),
        ("0.5.23", [17.685, 2.315]),
    ],
)
def test_a_size_is_the_whole_for_each_pool_of_a_hybrid_up_to_0_5_16(version, gigabytes):
    pools = host_pools(QWEN, HostCacheOptions(20), rules(version))
    assert [pool.kind for pool in pools] == ["full", "state"]
    assert [pool.size_bytes / GB for pool in pools] == pytest.approx(gigabytes, abs=4e-3)


@pytest.mark.parametrize("version", ["0.5.13", "0.5.23"])
def test_a_ratio_is_each_pools_own(version):
    pools = host_pools(GPT, HostCacheOptions(None, 2.0, 64), rules(version))
    assert [pool.slots for pool in pools] == [800_064, 640_064]
    states = host_pools(QWEN, HostCacheOptions(None, 2.0, 64), rules(version))
    assert [pool.slots for pool in states] == [
        600_000 // 64 * 64 + 64,
        401,
    ]  # states come one by one, whatever the page


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.5.8", [("full", KIMI, 640_384)]),
        ("0.5.9", [("full", KIMI + 8052, 574_592)]),
        ("0.5.10", [("full", KIMI + 8052, 574_592)]),
        ("0.5.11", [("full", KIMI, 640_384), ("indexer", 8052, 640_384)]),
        ("0.5.23", [("full", KIMI, 640_384), ("indexer", 8052, 640_384)]),
    ],
)
def test_index_keys_share_the_row_then_have_a_pool_on_top_of_the_size(version, expected):
    pools = host_pools(DEEPSEEK, HostCacheOptions(45, None, 64), rules(version))
    assert [(pool.kind, pool.slot_bytes, pool.slots) for pool in pools] == expected


def test_an_indexer_pool_allocates_a_page_more_than_is_logged():
    _kv, keys = host_pools(DEEPSEEK, HostCacheOptions(45, None, 64), rules("0.5.11"))
    assert keys.allocated_bytes - keys.size_bytes == 64 * 8052


@pytest.mark.parametrize(
    ("version", "mtp", "expected"),
    [
        pytest.param("0.5.10", True, [("full", 70_272, 637_109)], id="0.5.10 keeps no draft"),
        pytest.param(
            "0.5.11", True, [("full", 70_272, 637_109), ("draft", 1_152, 637_110)], id="0.5.11 in a pool of a page more"
        ),
        pytest.param(
            "0.5.17", False, [("full", 70_272, 637_109), ("draft", 1_152, 637_110)], id="0.5.17 a checkpoint too"
        ),
        pytest.param("0.5.18", True, [("full", 71_424, 637_109)], id="0.5.18 packs MTP layers into the row"),
        pytest.param(
            "0.5.18", False, [("full", 70_272, 637_109), ("draft", 1_152, 637_110)], id="0.5.18 keeps EAGLE-3 beside"
        ),
        pytest.param("0.5.23", False, [("full", 70_272, 637_109), ("draft", 1_152, 637_109)], id="0.5.23 slot by slot"),
    ],
)
def test_the_drafts_keys_and_values(version, mtp, expected):
    pools = host_pools(DRAFTED, HostCacheOptions(None, 4.0, 1, mtp), rules(version))
    assert [(pool.kind, pool.slot_bytes, pool.slots) for pool in pools] == expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.5.17", [("full", 70_272), ("indexer", 8_052), ("draft", 1_152)]),
        ("0.5.18", [("full", 71_424), ("indexer", 8_184)]),
    ],
)
def test_an_mtp_layer_of_sparse_attention_has_index_keys_of_its_own(version, expected):
    drafted = device(*DEEPSEEK.pools, Pool("draft KV cache", "draft", 100_032, 1_152 + 132, 64))
    pools = host_pools(drafted, HostCacheOptions(None, 2.0, 64, True), rules(version))
    assert [(pool.kind, pool.slot_bytes) for pool in pools] == expected


def test_states_of_drafts_have_no_host_pool_but_weigh_in_the_split():
    drafted = device(*QWEN.pools, Pool("states of drafts", "draft_state", 48, 12_000_000, 1))
    pools = host_pools(drafted, HostCacheOptions(20), rules("0.5.23"))
    assert [pool.kind for pool in pools] == ["full", "state"]
    weight = 201 * 3_000_000 + 49 * 12_000_000
    assert pools[1].slots == int(20 * weight / (weight + 300_001 * 15_360) * 1e9 // 3_000_000) + 1


def test_a_packed_draft_takes_its_share_of_a_size():
    (pool,) = host_pools(DRAFTED, HostCacheOptions(48, None, 1, True), rules("0.5.18"))
    assert pool.slots == int(48e9 // 71_424) + 1


# 61 layers of Kimi-K2.5 in two stages, 30 and 31: 45 GB are 1,302,083 and 1,260,080 tokens, then whole pages of 16 and one more.
@pytest.mark.parametrize(("version", "slots"), [("0.5.14", [1_302_096, 1_260_096]), ("0.5.15", [1_260_096, 1_260_096])])
def test_pipeline_stages_take_the_fewest_tokens_since_0_5_15(version, slots):
    stages = (device(kv(300_000, 30 * 1_152)), device(kv(300_000, 31 * 1_152)))
    shown = host_cache(stages, 4, HostCacheOptions(45, None, 16), rules(version))
    assert [pools[0].slots for pools in shown.stages] == slots
    assert shown.ranks == 8
    assert shown.bytes_total == 4 * sum(pools[0].size_bytes for pools in shown.stages)
    assert shown.bytes_per_rank == max(pools[0].size_bytes for pools in shown.stages)


def test_what_the_plan_says_of_a_pool():
    pool = HostPool("KV cache", "full", 100, 10, 5)
    assert pool.as_dict() == {"name": "KV cache", "kind": "full", "slots": 100, "bytes": 1000}


@given(
    st.sampled_from(VERSIONS),
    st.sampled_from([QWEN, GPT, DEEPSEEK, DRAFTED]),
    st.sampled_from([1, 16, 64]),
    st.integers(1, 500),
    st.integers(0, 500),
)
def test_a_larger_size_never_makes_a_smaller_cache(version, pools, page, size, more):
    small, large = (
        host_cache((pools,), 8, HostCacheOptions(size_gb, None, page), rules(version))
        for size_gb in (size, size + more)
    )
    assert small.bytes_per_rank <= large.bytes_per_rank
    for one, other in zip(small.pools, large.pools, strict=True):
        assert 0 < one.slots <= other.slots
        assert one.kind == "state" or one.slots % page == 0


@given(st.sampled_from(VERSIONS), st.sampled_from([QWEN, GPT, DEEPSEEK]), st.floats(0.1, 50), st.floats(0.1, 50))
def test_a_higher_ratio_never_makes_a_smaller_cache(version, pools, one, other):
    small, large = (
        host_cache((pools,), 1, HostCacheOptions(None, ratio, 64), rules(version)) for ratio in sorted((one, other))
    )
    assert all(low.slots <= high.slots for low, high in zip(small.pools, large.pools, strict=True))


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_the_largest_size_is_found(limit, highest):
    assert largest_size_gb(lambda size_gb: size_gb <= limit, highest) == min(limit, highest)
