# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a budget is shared between full and sliding layers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.model.attention import GqaGeometry, SlidingGeometry
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.layer_pools import (
    has_sliding_pool,
    sliding_stage,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.pool_inputs import PoolOptions
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.parallelism import Speculation
from ansible_collections.blackwell.inference.tests.unit.planning.device.pool_cases import inputs_of, model_of, rules_of

# F = 2 x (64 + 64) x 2 = 512 bytes, S = 4 x (64 + 64) x 2 = 1,024
FULL, SLIDING = GqaGeometry(64, 2, 64, 64), GqaGeometry(64, 4, 64, 64)


def stage(version, pattern="ffssss", ratio=0.5, architecture="GptOssForCausalLM", layers=None, **others):
    model = model_of(SlidingGeometry(FULL, SLIDING, 128, pattern), len(pattern), architecture)
    options = PoolOptions(swa_full_tokens_ratio=ratio, **others)
    inputs = inputs_of(model, "94", "40", 0.8, options=options, rules=rules_of(version))
    return sliding_stage(inputs, layers or range(len(pattern)))


@pytest.mark.parametrize(
    ("version", "architecture", "fitting"),
    [
        pytest.param("0.5.7", "MiMoV2FlashForCausalLM", 1_000_000 // 5120, id="0.5.7: F nf + S ns"),
        pytest.param("0.5.8", "GptOssForCausalLM", 1_000_000 // 3072, id="0.5.8: all as full ones"),
        pytest.param("0.5.8", "MiMoV2FlashForCausalLM", 1_000_000 // 7168, id="0.5.8: MiMo's sliding layers once more"),
        pytest.param("0.5.9", "GptOssForCausalLM", 1_000_000 // 5120, id="0.5.9: F nf + S ns"),
        pytest.param("0.5.11", "GptOssForCausalLM", 1_000_000 // 3072, id="0.5.11: F nf + r S ns"),
    ],
)
def test_tokens_that_fit(version, architecture, fitting):
    assert stage(version, architecture=architecture).fitting(1_000_000) == fitting


@pytest.mark.parametrize(
    ("version", "full", "sliding"),
    [
        pytest.param("0.5.8", 1500, 750, id="by layers: 1,000 x 6 / (0.5 x 4 + 2)"),
        pytest.param("0.5.9", 1666, 833, id="by bytes: 1,000 x 5,120 / 3,072"),
        pytest.param("0.5.11", 1000, 500, id="direct"),
    ],
)
def test_shares(version, full, sliding):
    found = stage(version).split(1000, None)
    assert (found.total, found.full, found.sliding) == (full, full, sliding)


@pytest.mark.parametrize(("version", "sliding"), [("0.5.9", 976), ("0.5.10", 960)])
def test_whole_pages_come_last_or_first(version, sliding):
    """1,025 x 5,120 / 4,300.8 = 1,220 full tokens, 1,216 in pages of 16: 0.8 of them are 976 = 61 pages, or 972 = 60 pages."""
    found = stage(version, ratio=0.8, page_size=16).split(1025, None)
    assert (found.full, found.sliding) == (1216, sliding)


def test_a_model_of_sliding_layers_alone():
    found = stage("0.5.12", pattern="ssss")
    assert found.fitting(1_000_000) == 1_000_000 // 4096
    assert (found.split(200, None).total, found.split(200, None).full, found.split(200, None).sliding) == (200, 0, 200)


def test_a_pool_for_a_known_number_of_requests():
    """Without a radix cache, 16 requests, page 16: each 128 + 128 + 16 + 16, two chunks of 8,192 in flight, a page."""
    known = {"radix_cache": False, "max_running_requests": 16, "chunked_prefill_size": 8192, "page_size": 16}
    cap = 16 * (128 + 128 + 16 + 16) + 2 * 8192 + 16
    found = stage("0.5.14", **known)
    assert found.request_cap == cap
    assert found.fitting(100_000_000) == (100_000_000 - cap * 4096) // 1024
    assert found.split(1600, None).sliding == cap
    assert found.split(1600, 1600).sliding == 1600  # --max-total-tokens caps it too
    assert stage("0.5.13", **known).request_cap is None
    assert stage("0.5.14", **{**known, "radix_cache": True}).request_cap is None


def test_stages_take_in_the_next_one_s_first_layer_up_to_0_5_20():
    old, new = stage("0.5.20", layers=range(2)), stage("0.5.21", layers=range(2))
    assert ((old.full, old.sliding), (new.full, new.sliding)) == ((2, 1), (2, 0))
    assert new.fitting(1_000_000) == 0  # the engine stops at a stage without sliding layers
    assert old.stored_sliding_bytes == 1024  # the engine keeps a buffer for the layer that it takes in


@pytest.mark.parametrize(
    ("version", "architecture", "wanted", "has"),
    [
        ("0.5.7", "GptOssForCausalLM", True, False),
        ("0.5.8", "GptOssForCausalLM", True, True),
        ("0.5.8", "GptOssForCausalLM", False, False),
        ("0.5.10", "Gemma4ForCausalLM", True, False),
        ("0.5.11", "Gemma4ForCausalLM", True, True),
        ("0.5.23", "Gemma3ForCausalLM", True, False),
    ],
)
def test_who_has_a_sliding_pool(version, architecture, wanted, has):
    model = model_of(SlidingGeometry(FULL, SLIDING, 128, "fs"), 2, architecture)
    options = PoolOptions(hybrid_sliding_memory=wanted)
    assert has_sliding_pool(inputs_of(model, "94", "40", 0.8, options=options, rules=rules_of(version))) is has


def test_a_draft_s_own_sliding_layers_count_as_such_since_0_5_19():
    draft = model_of(SlidingGeometry(FULL, FULL, 128, "fss"), 3, "GptOssForCausalLM")
    model = model_of(SlidingGeometry(FULL, SLIDING, 128, "ffssss"), 6, "GptOssForCausalLM")
    inputs = inputs_of(model, "94", "40", 0.8, speculation=Speculation("EAGLE3", 3, 1, 4, draft))
    cells = {
        version: (found.full_cell, found.sliding_cell)
        for version in ("0.5.14", "0.5.15", "0.5.19")
        for found in [sliding_stage(replace(inputs, rules=rules_of(version)), range(6))]
    }
    assert cells == {"0.5.14": (2 * 512, 4096), "0.5.15": (5 * 512, 4096), "0.5.19": (3 * 512, 6 * 1024)}
