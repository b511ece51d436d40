# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tokens of the pools that keys and values lie in. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Split:
    """`total` is what the engine calls max_total_num_tokens, `full` and `sliding` the slots of either pool. All 0: no start."""

    total: int
    full: int
    sliding: int


NO_SPLIT = Split(0, 0, 0)


def aligned(tokens: int, page: int) -> int:
    """Whole pages, rounded down."""
    return tokens // page * page
