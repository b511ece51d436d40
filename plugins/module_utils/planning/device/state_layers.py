# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pool of states of a hybrid's rank: its inputs, its bytes, its limit on requests. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.sizing_rules import SizingRules
from ..model.attention import HybridGeometry
from .draft_pool import requests_asked
from .pools import Pool, PoolInputs
from .stages import stages
from .state_pool import StateBytes, StateWishes, draft_state_bytes, slots_of_request, state_budget, state_bytes

_KDA = "Kimi"  # Kimi-Linear's windows do not overlap


@dataclass(frozen=True)
class StateSizes:
    """`slots` without the padding slot; `rest_gib` is left for tokens; `request_limit` may run at once."""

    slots: int
    rest_gib: float
    request_limit: int


def state_sizes(inputs: PoolInputs, attention: HybridGeometry, rest_gib: float, rules: SizingRules) -> StateSizes:
    """Since 0.5.17 a request is charged with the states of the fullest stage, before that with those of all layers."""
    wishes = _wishes(inputs)
    one = _bytes_of_request(inputs, attention, rules)
    layers = attention.pattern.count("l")
    size = one.total * layers
    if rules.state_budget == "padded" and inputs.parallelism.pp > 1:
        fullest = max(
            attention.pattern[stage.start : stage.stop].count("l")
            for stage in stages(len(attention.pattern), inputs.parallelism.pp, rules)
        )
        size = int(size * (fullest / layers))
    if size <= 0:
        return StateSizes(0, rest_gib, 0)
    budget = state_budget(rest_gib, size, wishes, rules)
    limit = budget.slots // slots_of_request(wishes, rules)
    if rules.state_budget == "reserved" and wishes.draft_tokens is not None and wishes.requests is not None:
        limit = min(limit, wishes.requests // wishes.groups)  # the states of drafts were reserved for just those
    return StateSizes(budget.slots, budget.rest_gib, limit)


def state_pools(
    inputs: PoolInputs, attention: HybridGeometry, sizes: StateSizes, requests: int, stage: range, rules: SizingRules
) -> tuple[Pool, ...]:
    """The slots, and with speculation the states of tokens that are being verified: of each slot up to 0.5.6, of each request since."""
    one = _bytes_of_request(inputs, attention, rules)
    pattern = attention.pattern[stage.start : stage.stop] if rules.state_stage_layers else attention.pattern
    layers = pattern.count("l")
    pools = [Pool("state pool", "state", sizes.slots, one.total * layers, 1)]
    speculation = inputs.speculation
    if speculation is not None:
        chain = speculation.topk <= 1 and not inputs.model.architecture.startswith(_KDA)
        drafted = draft_state_bytes(one, speculation.draft_tokens, rules.state_window_shared and chain)
        slots = sizes.slots if rules.state_budget == "divided" else requests
        pools.append(Pool("states of drafts", "draft_state", slots, drafted * layers, 1))
    return tuple(pools)


def _bytes_of_request(inputs: PoolInputs, attention: HybridGeometry, rules: SizingRules) -> StateBytes:
    """In one layer. Up to 0.5.8 states are float32 unless --mamba-ssm-dtype says otherwise, whatever the checkpoint says."""
    dtype = inputs.wishes.state_dtype or (None if rules.state_dtype_of_config else "float32")
    return state_bytes(attention.state, inputs.parallelism.attention_tp, dtype)


def _wishes(inputs: PoolInputs) -> StateWishes:
    wishes = inputs.wishes
    return StateWishes(
        slots=wishes.max_state_slots,
        requests=requests_asked(inputs),
        groups=inputs.parallelism.dp,
        draft_tokens=inputs.speculation.draft_tokens if inputs.speculation is not None else None,
        radix_cache=wishes.radix_cache,
        ratio=wishes.state_full_memory_ratio,
        extra_buffer=bool(wishes.state_extra_buffer),
        overlap=wishes.overlap_schedule,
    )
