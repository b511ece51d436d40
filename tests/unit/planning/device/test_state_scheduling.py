# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How hybrids with states are scheduled by default."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.model.attention import (
    GqaGeometry,
    HybridGeometry,
    MlaGeometry,
    StateGeometry,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.pool_inputs import (
    PoolOptions,
    refuses_drafts,
    scheduled,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.preflight import preflight
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.parallelism import Speculation
from ansible_collections.blackwell.inference.tests.unit.planning.device.pool_cases import (
    inputs_of,
    model_of,
    rules_of,
    size_pools,
)

STATE = StateGeometry(32, 16, 128, 128, 4, "bfloat16")
QWEN = model_of(HybridGeometry(GqaGeometry(16, 2, 256, 256), STATE, "lllf" * 12), 48, "Qwen3NextForCausalLM")
DRAFTS = Speculation("NEXTN", 3, 1, 4)


@pytest.mark.parametrize(
    ("version", "architecture", "options", "speculation", "buffer", "radix", "overlap"),
    [
        pytest.param("0.5.9", None, {}, None, False, True, False, id="no buffer, no overlap"),
        pytest.param("0.5.9", None, {}, DRAFTS, False, False, True, id="0.5.7 to 0.5.9: drafts cost the radix cache"),
        pytest.param("0.5.9", None, {"state_extra_buffer": True}, DRAFTS, True, True, True, id="but with a buffer"),
        pytest.param("0.5.13", None, {}, None, False, True, False, id="no buffer up to 0.5.13"),
        pytest.param("0.5.14", None, {}, None, True, True, True, id="a buffer since 0.5.14"),
        pytest.param("0.5.14", None, {}, DRAFTS, True, True, True, id="with drafts too"),
        pytest.param("0.5.14", None, {"overlap_schedule": False}, None, False, True, False, id="not without overlap"),
        pytest.param(
            "0.5.14", None, {"overlap_schedule": False, "page_size": 64}, None, True, True, False, id="but with pages"
        ),
        pytest.param(
            "0.5.14", None, {"state_extra_buffer": False}, None, False, True, False, id="nor when told not to"
        ),
        pytest.param(
            "0.5.15", "KimiLinearForCausalLM", {}, None, False, True, False, id="Kimi-Linear not yet in 0.5.15"
        ),
        pytest.param("0.5.16", "KimiLinearForCausalLM", {}, None, True, True, True, id="since 0.5.16"),
        pytest.param(
            "0.5.23", None, {"radix_cache": False}, None, None, False, True, id="nothing without a radix cache"
        ),
    ],
)
def test_defaults(version, architecture, options, speculation, buffer, radix, overlap):
    model = model_of(QWEN.attention, 48, architecture or QWEN.architecture)
    found = scheduled(model, PoolOptions(**options), speculation, rules_of(version))
    assert (found.state_extra_buffer, found.radix_cache, found.overlap_schedule) == (buffer, radix, overlap)


def test_others_are_left_alone():
    options = PoolOptions()
    assert scheduled(model_of(MlaGeometry(512, 64, 64), 61), options, DRAFTS, rules_of("0.5.9")) is options


@pytest.mark.parametrize(
    ("version", "options", "speculation", "refused"),
    [
        ("0.5.9", {}, DRAFTS, False),
        ("0.5.10", {}, DRAFTS, True),
        ("0.5.13", {}, DRAFTS, True),
        ("0.5.13", {}, None, False),
        ("0.5.13", {"state_extra_buffer": True}, DRAFTS, False),
        ("0.5.13", {"radix_cache": False}, DRAFTS, False),
        ("0.5.14", {}, DRAFTS, False),
    ],
)
def test_drafts_that_end_the_start(version, options, speculation, refused):
    assert refuses_drafts(QWEN, PoolOptions(**options), speculation, rules_of(version)) is refused


def test_a_checkpoint_s_type_of_state_counts_since_0_5_9():
    """bfloat16 halves the states: 36 layers of 32 x 128 x 128 elements."""
    sizes = {
        version: next(
            pool.slot_bytes
            for pool in size_pools(inputs_of(QWEN, "94", "60", 0.8), rules_of(version)).pools
            if pool.kind == "state"
        )
        for version in ("0.5.8", "0.5.9")
    }
    assert sizes["0.5.8"] - sizes["0.5.9"] == 36 * 32 * 128 * 128 * 2


def test_the_plan_refuses_what_would_end_the_start(request_for):
    request = request_for(version="0.5.12", model=replace(QWEN, draft_layers=1), speculative_algorithm="NEXTN")
    messages = [refusal.message for refusal in preflight(request) if refusal.name == "speculation"]
    assert messages == [
        "serving.speculative_algorithm is NEXTN, and SGLang 0.5.12 ends the start of some where drafts meet a radix cache of states "
        "without an extra buffer. Set mamba-scheduler-strategy: extra_buffer (and SGLANG_ENABLE_SPEC_V2: '1' in environment) or "
        "disable-radix-cache in arguments, or choose 0.5.14 or newer."
    ]
