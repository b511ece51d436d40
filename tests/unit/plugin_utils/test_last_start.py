# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the last start teaches of the next, and of which it teaches nothing."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.blackwell.inference.plugins.plugin_utils.last_start import estimate_seconds

PLAN = {
    "model": {"name": "kimi-k2.5", "identity": "a1"},
    "engine": {"version": "0.5.9"},
    "ranks": 8,
    "host_cache": {"bytes_per_rank": 48 * 10**9},
    "start": {"estimate_seconds": 779},
}
LAST = {
    "model": {"name": "kimi-k2.5", "identity": "a1"},
    "engine_version": "0.5.9",
    "ranks": 8,
    "host_cache_bytes_per_rank": 48 * 10**9 - 5,
    "start_seconds": 431.2,
}


@pytest.mark.parametrize(
    ("last", "seconds"),
    [
        (LAST, 431.2),
        ({}, 779),
        ({**LAST, "model": {"identity": "b2"}}, 779),
        ({**LAST, "model": None}, 779),
        ({**LAST, "engine_version": "0.5.23"}, 779),
        ({**LAST, "ranks": 4}, 779),
        ({**LAST, "host_cache_bytes_per_rank": 24 * 10**9}, 779),
        ({**LAST, "host_cache_bytes_per_rank": None}, 779),
        ({**LAST, "start_seconds": None}, 779),
        ({**LAST, "start_seconds": 0}, 779),
    ],
    ids=[
        "the same start",
        "none",
        "another checkpoint",
        "edited",
        "another version",
        "other ranks",
        "another cache",
        "no cache then",
        "not logged",
        "no time",
    ],
)
def test_a_start_is_estimated_by_the_last_one_of_the_same_kind(last: dict[str, Any], seconds: float) -> None:
    assert estimate_seconds(PLAN, last) == seconds


def test_without_a_host_cache_nothing_has_to_be_pinned_then_as_now() -> None:
    plan = {**PLAN, "host_cache": {"bytes_per_rank": 0}}
    assert estimate_seconds(plan, {**LAST, "host_cache_bytes_per_rank": None}) == 431.2


def test_a_checkpoint_without_an_identity_teaches_nothing() -> None:
    plan = {**PLAN, "model": {"name": "x", "identity": None}}
    assert estimate_seconds(plan, {**LAST, "model": {"identity": None}}) == 779
