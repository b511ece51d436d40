# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""States of linear-attention layers: their bytes and their slots."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB
from ansible_collections.blackwell.inference.plugins.module_utils.model.attention import StateGeometry
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.state_pools import (
    StateOptions,
    draft_state_bytes,
    slots_of_request,
    state_budget,
    state_bytes,
)
from ansible_collections.blackwell.inference.tests.unit.planning.device.pool_cases import rules_of

QWEN3_NEXT = StateGeometry(32, 16, 128, 128, 4)
PER_REQUEST = 64 << 20
FREE = StateOptions(None, None, 1, None, True, None, False, True)


def options(**changes):
    return StateOptions(**{**FREE.__dict__, **changes})


@pytest.mark.parametrize(
    ("geometry", "tp", "dtype", "window", "state"),
    [
        pytest.param(
            QWEN3_NEXT, 1, None, (32 * 128 + 2 * 16 * 128) * 3 * 2, 32 * 128 * 128 * 4, id="Qwen3-Next on one card"
        ),
        pytest.param(QWEN3_NEXT, 8, None, 8192 // 8 * 6, 4 * 128 * 128 * 4, id="on 8"),
        pytest.param(
            QWEN3_NEXT, 8, "bfloat16", 6144, 4 * 128 * 128 * 2, id="--mamba-ssm-dtype bfloat16 halves the state"
        ),
        pytest.param(
            StateGeometry(64, 8, 64, 128, 4),
            16,
            None,
            (64 * 64 + 2 * 16 * 128) // 16 * 6,
            4 * 64 * 128 * 4,
            id="8 groups on 16 ranks are 16",
        ),
    ],
)
def test_bytes_of_a_request(geometry, tp, dtype, window, state):
    found = state_bytes(geometry, tp, dtype)
    assert (found.window, found.state, found.total) == (window, state, window + state)


@pytest.mark.parametrize(
    ("version", "changes", "slots"),
    [
        pytest.param("0.5.9", {}, 3, id="no extra buffer"),
        pytest.param("0.5.7", {}, 5, id="0.5.7 gives the extra two to those without an extra buffer too"),
        pytest.param("0.5.9", {"extra_buffer": True}, 5, id="extra buffer"),
        pytest.param("0.5.9", {"extra_buffer": True, "draft_tokens": 4}, 4, id="with drafts up to 0.5.9"),
        pytest.param("0.5.10", {"extra_buffer": True, "draft_tokens": 4}, 5, id="since 0.5.10 drafts do not count"),
        pytest.param("0.5.10", {"extra_buffer": True, "overlap": False}, 4, id="but overlap does"),
        pytest.param("0.5.23", {"radix_cache": False, "extra_buffer": True}, 1, id="no radix cache"),
        pytest.param("0.5.5", {"extra_buffer": True}, 3, id="0.5.5 has no such buffer"),
    ],
)
def test_slots_of_a_request(version, changes, slots):
    assert slots_of_request(options(**changes), rules_of(version)) == slots


@pytest.mark.parametrize(
    ("version", "changes", "slots", "left_mib"),
    [
        # 19 GiB: 9 GiB for states (ratio 0.9), 144 slots of 64 MiB, 10 GiB left
        pytest.param("0.5.5", {}, 144, 10 * 1024, id="by the ratio"),
        pytest.param("0.5.16", {}, 144, 10 * 1024, id="by the ratio, 0.5.16"),
        pytest.param("0.5.17", {}, 143, 10 * 1024, id="since 0.5.17 the padding slot is paid for"),
        pytest.param("0.5.9", {"ratio": 18.0}, 288, 1024, id="another ratio"),
        pytest.param("0.5.9", {"slots": 100}, 100, 19 * 1024 - 6400, id="told"),
        pytest.param("0.5.9", {"slots": 100, "groups": 2}, 50, 19 * 1024 - 3200, id="told for two groups"),
        pytest.param("0.5.5", {"slots": 100}, 144, 10 * 1024, id="0.5.5 does not listen beside a radix cache"),
        pytest.param("0.5.9", {"radix_cache": False, "requests": 32}, 32, 19 * 1024 - 2048, id="as many as may run"),
        pytest.param(
            "0.5.8", {"radix_cache": False}, 512, 19 * 1024 - 512 * 64, id="512 up to 0.5.8: more than there is"
        ),
        pytest.param("0.5.9", {"radix_cache": False}, 144, 10 * 1024, id="by the ratio since 0.5.9"),
        # 4 draft tokens: 9 GiB // 64 MiB // 5
        pytest.param(
            "0.5.5", {"draft_tokens": 4, "requests": 16}, 28, 19 * 1024 - 28 * 320, id="each slot with its drafts"
        ),
        # 16 x 4 x 64 MiB = 4 GiB first; 15 x 0.9 / 1.9 GiB are 113.7 slots
        pytest.param("0.5.9", {"draft_tokens": 4, "requests": 16}, 113, 15 * 1024 - 113 * 64, id="drafts first"),
        # 9 GiB // (64 MiB x (1 + 4 / 3)) = 61, drafts of min(16, 61 // 3)
        pytest.param(
            "0.5.13",
            {"draft_tokens": 4, "requests": 16},
            61,
            19 * 1024 - 61 * 64 - 16 * 256,
            id="drafts out of the states' part",
        ),
        # (9 GiB - 5 x 64 MiB) // (64 MiB x 7 / 3) = 59, one padding slot each
        pytest.param(
            "0.5.17", {"draft_tokens": 4, "requests": 16}, 59, 19 * 1024 - 60 * 64 - 17 * 256, id="with padding"
        ),
    ],
)
def test_slots(version, changes, slots, left_mib):
    found = state_budget(19.0, PER_REQUEST, options(**changes), rules_of(version))
    assert found.slots == slots
    assert found.rest_gib * 1024 == pytest.approx(left_mib)


def test_slots_never_take_more_than_their_part():
    for thousandth in range(1, 40_000, 977):
        rest = thousandth / 1000
        found = state_budget(rest, PER_REQUEST, FREE, rules_of("0.5.23"))
        assert max(0, found.slots) * PER_REQUEST <= rest * 0.9 / 1.9 * GIB


def test_windows_of_draft_tokens_overlap_in_a_chain():
    """4 tokens, kernel 4: 4 x 3 columns apart, 4 + 2 together; the states are 4 in any case."""
    one = state_bytes(QWEN3_NEXT, 1, None)
    assert draft_state_bytes(one, 4, shared_window=False) == 4 * one.state + 4 * one.window
    assert draft_state_bytes(one, 4, shared_window=True) == 4 * one.state + 2 * one.window
