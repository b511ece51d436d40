# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wishes: each wrong one gets a sentence of its own."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import FORCEABLE, PlanningError
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.serving import (
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
        f"serving has the key 'tensor_parallel', which planning does not know; it knows {', '.join(sorted(WISHES))}. "
        "Correct the spelling, or give an engine flag that needs no planning in arguments."
    )


CORRECT = "Correct it in inference_serving or in the profile."
UNQUOTE = "Write it without quotes."
COUNT = "a whole number of at least 1"
FRACTION = "a number above 0 and below 1"
FORCE = f"a list of refusals to override, out of {', '.join(sorted(FORCEABLE))}"


@pytest.mark.parametrize(
    ("key", "value", "seen", "expected", "advice"),
    [
        ("tp", "8", "the text '8'", COUNT, UNQUOTE),
        ("tp", 0, "0", COUNT, CORRECT),
        ("tp", True, "true", COUNT, CORRECT),
        ("tp", 2.5, "2.5", COUNT, CORRECT),
        ("mem_fraction_static", 1.2, "1.2", FRACTION, CORRECT),
        ("mem_fraction_static", 0, "0", FRACTION, CORRECT),
        ("mem_fraction_static", "0.88", "the text '0.88'", FRACTION, UNQUOTE),
        ("max_running_requests", -1, "-1", COUNT, CORRECT),
        ("context_length", 6, "6", "a whole number of at least 7", CORRECT),
        ("max_total_tokens", 6, "6", "a whole number of at least 7", CORRECT),
        ("device", "gpu", "the text 'gpu'", "one of cuda, cpu", CORRECT),
        ("hicache", "yes", "the text 'yes'", "true or false", CORRECT),
        ("hicache_size", 48.5, "48.5", "a whole number of GB (10^9 bytes) per rank, at least 1", CORRECT),
        ("hicache_ratio", 0, "0", "a number above 0", CORRECT),
        ("headroom_gib", float("nan"), "nan", "a number of GiB, 0 or more", CORRECT),
        ("page_size", [1], "a list", COUNT, CORRECT),
        ("chunked_prefill_size", 0, "0", "a whole number of at least 1, or -1 to turn chunking off", CORRECT),
        (
            "kv_cache_dtype",
            "fp4",
            "the text 'fp4'",
            "one of auto, bfloat16, bf16, fp4_e2m1, fp4_mx_block16, fp8_e4m3, fp8_e5m2, mxfp8, nvfp4",
            CORRECT,
        ),
        ("force", "headroom", "the text 'headroom'", FORCE, CORRECT),
        ("force", ["headroom", "gpu_count"], "a list with the text 'gpu_count'", FORCE, CORRECT),
    ],
)
def test_a_wrong_value(key, value, seen, expected, advice):
    assert refusal({key: value}) == ("serving_value", f"serving.{key} is {seen}; expected {expected}. {advice}")


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


def test_whole_ratios_are_numbers_like_others():
    assert repr(serving_from_dict({"hicache_ratio": 4}).hicache_ratio) == "4.0"


def test_chunking_can_be_turned_off():
    assert serving_from_dict({"chunked_prefill_size": -1}).chunked_prefill_size == -1
