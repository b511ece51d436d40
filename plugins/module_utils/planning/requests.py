# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many requests the engine lets run, and the table it keeps for them. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.blackwell.inference.plugins.module_utils.core.sizing_rules import SizingRules

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
    tokens: int, profiled_tokens: int, context_length: int, asked: int | None, rules: SizingRules
) -> RunningRequests:
    """The limit of one rank, and its `req_to_token` table: one row a request, one column a token of the longest context.

    Default clamp(int(tokens / context * 512), 2048, 4096), SGLang 0.5.9 to 0.5.23, of which half the tokens may run; since 0.5.10
    the table is no longer than that either. 0.5.9 reckons it from the tokens that fit, before --max-total-tokens caps the pool,
    0.5.10 to 0.5.23 from the capped pool. A table of 2048 x 262148 x 4 bytes is 2.000 GiB,
    and it comes out of what the fraction leaves free, not out of the pool.
    """
    basis = profiled_tokens if rules.request_rows_before_cap else tokens
    estimate = min(max(int(basis / context_length * 512), _LEAST), _MOST)
    if rules.running_requests_halved:
        estimate = max(1, min(estimate, tokens // 2))
    caps = {"none": asked, "estimate": estimate, "half_tokens": max(1, tokens // 2)}
    cap = caps[rules.running_requests_cap]
    rows = estimate if asked is None or cap is None else min(asked, cap)
    limit = max(1, min(rows, tokens // 2)) if asked is None else rows
    table_bytes = (rows + rules.request_rows_extra) * (context_length + _SPARE_COLUMNS) * _ENTRY_BYTES
    return RunningRequests(limit, rows, table_bytes, asked if asked is not None and limit < asked else None)
