# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wishes: each wrong one gets a sentence of its own."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import PlanningError
from ansible_collections.blackwell.inference.plugins.module_utils.planning.serving import (
    WISHES,
    ServingPolicy,
    serving_from_dict,
)


def refusal(data):
    with pytest.raises(PlanningError) as refused:
        serving_from_dict(data)
    assert [row["message"] for row in refused.value.details["refusals"]] == [str(refused.value)]
    return refused.value.details["refusals"][0]["name"], str(refused.value)


def test_nothing_wished_for():
    assert serving_from_dict({}) == ServingPolicy()


def test_null_means_not_wished_for():
    assert serving_from_dict({"tp": None, "hicache_size": None}) == ServingPolicy()


def test_an_unknown_key_is_refused_with_those_that_are_known():
    name, message = refusal({"tensor_parallel": 8})
    assert name == "serving_key"
    assert message == (
        "serving has the key 'tensor_parallel', which planning does not know; it knows chunked_prefill_size, context_length, cuda_graph_max_bs, "
        "device, disk_bytes_per_second, force, headroom_gib, hicache, hicache_io_backend, hicache_mem_layout, hicache_ratio, hicache_size, "
        "hicache_write_policy, host_reserve_gib, kv_cache_dtype, max_prefill_tokens, max_running_requests, max_total_tokens, mem_fraction_static, "
        "page_size, request_tokens, tp. Correct the spelling, or give an engine flag that needs no planning in arguments."
    )


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("tp", "8", "serving.tp is the text '8'; expected a whole number of at least 1. Write it without quotes."),
        ("tp", 0, "serving.tp is 0; expected a whole number of at least 1. Correct it in inference_serving or in the profile."),
        ("tp", True, "serving.tp is true; expected a whole number of at least 1. Correct it in inference_serving or in the profile."),
        ("tp", 2.5, "serving.tp is 2.5; expected a whole number of at least 1. Correct it in inference_serving or in the profile."),
        ("mem_fraction_static", 1.2, "serving.mem_fraction_static is 1.2; expected a number above 0 and below 1. Correct it in inference_serving or in the profile."),
        ("mem_fraction_static", 0, "serving.mem_fraction_static is 0; expected a number above 0 and below 1. Correct it in inference_serving or in the profile."),
        ("mem_fraction_static", "0.88", "serving.mem_fraction_static is the text '0.88'; expected a number above 0 and below 1. Write it without quotes."),
        ("context_length", -1, "serving.context_length is -1; expected a whole number of at least 1. Correct it in inference_serving or in the profile."),
        ("device", "gpu", "serving.device is the text 'gpu'; expected one of cuda, cpu. Correct it in inference_serving or in the profile."),
        ("hicache", "yes", "serving.hicache is the text 'yes'; expected true or false. Correct it in inference_serving or in the profile."),
        ("hicache_size", 48.5, "serving.hicache_size is 48.5; expected a whole number of GB (10^9 bytes) per rank, at least 1. Correct it in inference_serving or in the profile."),
        ("hicache_ratio", 0, "serving.hicache_ratio is 0; expected a number above 0. Correct it in inference_serving or in the profile."),
        ("headroom_gib", float("nan"), "serving.headroom_gib is nan; expected a number of GiB, 0 or more. Correct it in inference_serving or in the profile."),
        ("page_size", [1], "serving.page_size is a list; expected a whole number of at least 1. Correct it in inference_serving or in the profile."),
        ("kv_cache_dtype", "fp4_e2m1", "serving.kv_cache_dtype is the text 'fp4_e2m1'; expected one of auto, bfloat16, bf16, fp8_e4m3, fp8_e5m2. Correct it in inference_serving or in the profile."),
        ("force", "headroom", "serving.force is the text 'headroom'; expected a list of refusals to override, out of context_length, gpu_balance, headroom, host_memory, memlock, unplanned_argument. Correct it in inference_serving or in the profile."),
        ("force", ["gpu_count"], "serving.force is a list; expected a list of refusals to override, out of context_length, gpu_balance, headroom, host_memory, memlock, unplanned_argument. Correct it in inference_serving or in the profile."),
    ],
)  # fmt: skip
def test_a_wrong_value(key, value, message):
    assert refusal({key: value}) == ("serving_value", message)


@pytest.mark.parametrize("key", sorted(WISHES))
@pytest.mark.parametrize("value", [{}, {"a": 1}, object()], ids=["empty", "dictionary", "object"])
def test_no_key_takes_a_dictionary_or_worse(key, value):
    name, message = refusal({key: value})
    assert name == "serving_value"
    assert message.startswith(f"serving.{key} is a")


@pytest.mark.parametrize("data", [[], "tp=8", 8, None])
def test_no_dictionary_at_all(data):
    assert refusal(data)[0] == "serving_type"


@pytest.mark.parametrize("more", [{"hicache_size": 48}, {"hicache_ratio": 2.0}])
def test_a_size_for_a_cache_that_is_turned_off(more):
    assert refusal({"hicache": False, **more}) == (
        "serving_value",
        "serving.hicache is false, and yet hicache_size or hicache_ratio is given: leave the size and the ratio out, or set hicache to true.",
    )


@pytest.mark.parametrize(
    ("data", "cached"),
    [
        ({}, False),
        ({"hicache": True}, True),
        ({"hicache": False}, False),
        ({"hicache_size": 1}, True),
        ({"hicache_ratio": 2}, True),
    ],
)
def test_whether_a_cache_is_asked_for(data, cached):
    assert serving_from_dict(data).cached is cached


def test_forced_names_are_sorted_and_single():
    assert serving_from_dict({"force": ["memlock", "headroom", "memlock"]}).force == ("headroom", "memlock")


def test_chunking_can_be_turned_off():
    assert serving_from_dict({"chunked_prefill_size": -1}).chunked_prefill_size == -1
