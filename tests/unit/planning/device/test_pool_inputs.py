# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From wishes and flags to what the engine sizes its pools from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.pool_inputs import (
    PoolOptions,
    pool_inputs,
    pool_options,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.parallelism import Parallelism


def test_ranks_in_stages_and_groups(request_for):
    request = request_for(tp=4, pp=2, dp=2)
    assert request.parallelism == Parallelism(4, 2, 2)
    assert (request.ranks, request.parallelism.attention_tp) == (8, 2)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"speculative_algorithm": "EAGLE3"}, ("EAGLE3", 3, 1, 4)),
        ({"speculative_algorithm": "EAGLE", "speculative_num_steps": 5}, ("EAGLE", 5, 1, 6)),
        (
            {"speculative_algorithm": "EAGLE", "speculative_num_steps": 2, "speculative_num_draft_tokens": 9},
            ("EAGLE", 2, 1, 3),
        ),
        (
            {"speculative_algorithm": "EAGLE", "speculative_eagle_topk": 4, "speculative_num_draft_tokens": 9},
            ("EAGLE", 3, 4, 9),
        ),
        ({"speculative_algorithm": "DFLASH"}, ("DFLASH", 3, 1, 16)),
        ({"speculative_algorithm": "NGRAM", "speculative_num_draft_tokens": 8}, ("NGRAM", 3, 1, 8)),
    ],
    ids=[
        "a chain of three",
        "a longer chain",
        "a chain verifies one more than it guesses",
        "a tree",
        "a block",
        "n-grams",
    ],
)
def test_how_drafts_are_made(request_for, options, expected):
    found = request_for(**options).speculation
    assert (found.algorithm, found.steps, found.topk, found.draft_tokens) == expected


def test_nothing_drafts_unasked(request_for, llama):
    assert replace(request_for(), draft=llama).speculation is None


def test_flags_that_change_the_pools(request_for):
    arguments = {
        "disable-radix-cache": True,
        "disable-overlap-schedule": True,
        "disable-hybrid-swa-memory": True,
        "mamba-scheduler-strategy": "extra_buffer",
        "nsa-prefill-backend": "tilelang",
    }
    assert pool_options(request_for(arguments=arguments, chunked_prefill_size=4096)) == PoolOptions(
        radix_cache=False,
        overlap_schedule=False,
        state_extra_buffer=True,
        hybrid_sliding_memory=False,
        chunked_prefill_size=4096,
        raw_latent_rows=True,
    )


def test_the_chunk_is_the_cards_where_nobody_says(request_for):
    assert pool_options(request_for()).chunked_prefill_size == 8192


def test_free_memory_before_and_after_the_load(request_for):
    inputs = pool_inputs(request_for(version="0.5.23"), 0.9, 1000, 300, 20)
    assert (inputs.free_before_bytes, inputs.free_after_bytes, inputs.draft_weights_bytes) == (1000, 700, 20)
    assert inputs.reserve_bytes == 100 << 20
