# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the device pools of one rank come to, and how many requests they let run. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...sglang.sizing_rules import RequestsCap, SizingRules

_LEAST, _MOST = 2048, 4096
_ENTRY_BYTES = 4  # int32
_SPARE_COLUMNS = 4


@dataclass(frozen=True)
class RunningRequests:
    """`rows` is for how many the table is made, `limit` how many may run; `cut_from` the operator's value where the engine will lower it."""

    limit: int
    rows: int
    table_bytes: int
    cut_from: int | None = None


def running_requests(
    tokens: int,
    profiled_tokens: int,
    context_length: int,
    asked: int | None,
    rules: SizingRules,
    groups: int = 1,
    state_limit: int | None = None,
    draft_columns: int = 0,
) -> RunningRequests:
    """The limit of one rank, and its `req_to_token` table: one row a request, one column a token of the longest context.

    Default clamp(int(tokens / context * 512), 2048, 4096), SGLang since 0.5.5, of which half the tokens may run; since 0.5.10
    the table is no longer than that either. Up to 0.5.9 it is reckoned from the tokens that fit, before --max-total-tokens caps the pool,
    since 0.5.10 from the capped pool. `groups` of attention data parallelism share `asked`, and since 0.5.10 the table is for a group's
    share; fewer requests than groups are one for each since 0.5.23, and no start before. `state_limit`: how many requests the pool of
    states has room for. A table of 2048 x 262148 x 4 bytes is 2.000 GiB, and it comes out of what the fraction leaves free, not out of the pool.
    """
    if asked is None:
        rows = default_rows(tokens, profiled_tokens, context_length, rules)
        limit = min(rows, tokens // 2)
    else:
        limit = max(rules.group_requests_least, asked // groups)
        cap: Mapping[RequestsCap, int] = {
            "none": limit,
            "estimate": _estimate(tokens, context_length),
            "half_tokens": max(1, tokens // 2),
        }
        limit = min(limit, cap[rules.running_requests_cap])
        rows = limit if rules.running_requests_per_group else asked
    if state_limit is not None:
        rows, limit = min(rows, state_limit), min(limit, state_limit)
    columns = context_length + _SPARE_COLUMNS + draft_columns
    table_bytes = (rows + rules.request_rows_extra) * columns * _ENTRY_BYTES
    cut_from = asked if asked is not None and limit < asked // groups else None
    return RunningRequests(limit, rows, table_bytes, cut_from)


def default_rows(tokens: int, profiled_tokens: int, context_length: int, rules: SizingRules) -> int:
    """Rows of the table where no number of requests was asked for."""
    if rules.request_rows_before_cap:
        return _estimate(profiled_tokens, context_length)
    estimate = _estimate(tokens, context_length)
    return max(1, min(estimate, tokens // 2)) if rules.running_requests_halved else estimate


def _estimate(tokens: int, context_length: int) -> int:
    return min(max(int(tokens / context_length * 512), _LEAST), _MOST)


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


@dataclass(frozen=True)
class Pool:
    """One preallocated buffer of a rank. `kind`: full, sliding, state, indexer or draft; `slots` are tokens, or requests of a state pool.

    Of kind draft_state are the states of tokens that are being verified; their slots are requests. `padding_slots` are allocated
    beside the slots and hold nothing.
    """

    name: str
    kind: str
    slots: int
    slot_bytes: int
    padding_slots: int

    @property
    def size_bytes(self) -> int:
        return (self.slots + self.padding_slots) * self.slot_bytes

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            "slots": self.slots,
            "slot_bytes": self.slot_bytes,
            "size_bytes": self.size_bytes,
        }


@dataclass(frozen=True)
class DevicePools:
    """`tokens` is what the engine logs as max_total_num_tokens, `profiled_tokens` what fitted before caps and pages. 0 tokens: no start.

    `limiting`: of the pipeline stage that decides how many tokens there are.
    """

    tokens: int
    profiled_tokens: int
    requests: RunningRequests
    pools: tuple[Pool, ...]
    limiting: bool = True

    @property
    def size_bytes(self) -> int:
        return sum(pool.size_bytes for pool in self.pools)

    def slots(self, kind: str) -> int:
        """Slots of the pools of this kind, 0 where there is none."""
        return sum(pool.slots for pool in self.pools if pool.kind == kind)
