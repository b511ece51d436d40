# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many requests the engine lets run, and the table it keeps for them. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.sizing_rules import SizingRules

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

    Default clamp(int(tokens / context * 512), 2048, 4096), SGLang 0.5.5 to 0.5.23, of which half the tokens may run; since 0.5.10
    the table is no longer than that either. Up to 0.5.9 it is reckoned from the tokens that fit, before --max-total-tokens caps the pool,
    0.5.10 to 0.5.23 from the capped pool. `groups` of attention data parallelism share `asked`, and since 0.5.10 the table is for a group's
    share; fewer requests than groups are one for each since 0.5.23, and no start before. `state_limit`: how many requests the pool of
    states has room for. A table of 2048 x 262148 x 4 bytes is 2.000 GiB, and it comes out of what the fraction leaves free, not out of the pool.
    """
    if asked is None:
        rows = default_rows(tokens, profiled_tokens, context_length, rules)
        limit = min(rows, tokens // 2)
    else:
        limit = max(rules.group_requests_least, asked // groups)
        cap = {"none": limit, "estimate": _estimate(tokens, context_length), "half_tokens": max(1, tokens // 2)}
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
