# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why there is no pool: the weights, or a wish."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import PlanningError
from ansible_collections.blackwell.inference.plugins.module_utils.model.attention import (
    GqaGeometry,
    HybridGeometry,
    SlidingGeometry,
    StateGeometry,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.planner import plan_memory

SLIDING = {
    "architecture": "GptOssForCausalLM",
    "attention": SlidingGeometry(GqaGeometry(64, 8, 64, 64), GqaGeometry(64, 8, 64, 64), 4096, "sf" * 16),
}
HYBRID = {
    "attention": HybridGeometry(GqaGeometry(32, 8, 128, 128), StateGeometry(64, 16, 128, 128, 4, "float32"), "lllf" * 8)
}


@pytest.fixture
def refusal(request_for, llama):
    """(the request, what is said of GPU memory)"""

    def refused(changes=None, **options):
        request = request_for(
            model=replace(llama, **(changes or {})), calibration={}, **{"mem_fraction_static": None, **options}
        )
        with pytest.raises(PlanningError) as error:
            plan_memory(request)
        (row,) = [row for row in error.value.details["refusals"] if row["name"] in ("gpu_memory", "headroom")]
        return request, row["message"]

    return refused


@pytest.mark.parametrize(
    ("changes", "options", "named"),
    [
        ({}, {"page_size": 64, "max_total_tokens": 10}, ("max_total_tokens", "page_size")),
        ({}, {"dp": 8, "max_running_requests": 4}, ("max_running_requests",)),
        (HYBRID, {"max_mamba_cache_size": 1}, ("max_mamba_cache_size",)),
        (HYBRID, {"mamba_full_memory_ratio": 1e-6}, ("mamba_full_memory_ratio",)),
        (SLIDING, {"swa_full_tokens_ratio": 1e-6}, ("swa_full_tokens_ratio",)),
    ],
    ids=str,
)
def test_a_wish_that_leaves_no_pool_is_named_and_not_the_weights(refusal, changes, options, named):
    request, message = refusal(changes, version="0.5.22", **options)
    assert message.startswith(f"serving.{named[0]} is {options[named[0]]}")
    for key in named:
        assert f"serving.{key} is {options[key]}" in message
        assert plan_memory(replace(request, serving=replace(request.serving, **{key: None}))).tokens > 0


def test_what_is_said_of_several_wishes_and_of_one(refusal):
    assert refusal(page_size=64, max_total_tokens=10)[1] == (
        "serving.max_total_tokens is 10 and serving.page_size is 64, with which SGLang 0.5.9 does not start; without either the pool would hold "
        "up to 744,832 tokens. Change one of them, or leave it out."
    )
    assert refusal(dp=8, max_running_requests=4)[1] == (
        "serving.max_running_requests is 4, with which SGLang 0.5.9 does not start in 8 groups; without it the pool would hold 93,106 tokens. "
        "Change it, or leave it out."
    )


def test_where_the_card_is_too_small_no_memory_is_called_free(request_for):
    with pytest.raises(PlanningError) as error:
        plan_memory(request_for(mem_fraction_static=0.97))
    assert "mem_fraction_static 0.97 asks for 2.93 GiB more than each card has, graphs included; the first" in str(
        error.value
    )
