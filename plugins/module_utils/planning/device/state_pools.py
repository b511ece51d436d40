# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The states that linear-attention and state-space layers keep for requests: bytes and limit on requests. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Callable

from ...core.units import GIB
from ...model.attention import STATE_BYTES, HybridGeometry, StateGeometry
from ...sglang.sizing_rules import SizingRules, StateSharing
from .pool_inputs import PoolInputs
from .pools import Pool

_WINDOW_BYTES = 2  # bfloat16
_SLOTS_OF_REQUEST = 3
_DEFAULT_RATIO = 0.9


@dataclass(frozen=True)
class StateBytes:
    """One request's bytes in one layer on one rank: the convolution's window, `columns` wide, and the state."""

    window: int
    state: int
    columns: int

    @property
    def total(self) -> int:
        return self.window + self.state


def state_bytes(geometry: StateGeometry, attention_tp: int, dtype: str | None) -> StateBytes:
    """Window: (dv Hv + 2 dk Hk) / tp x (K - 1) of bfloat16; state: Hv / tp x dv x dk of its own type. SGLang since 0.5.5.

    Key heads (groups) that do not divide by the ranks are replicated: as many as ranks (`Mamba2StateShape.create`).
    """
    keys = geometry.key_heads if geometry.key_heads % attention_tp == 0 else attention_tp
    width = geometry.value_heads * geometry.value_head_dim + 2 * keys * geometry.key_head_dim
    columns = geometry.conv_kernel - 1
    elements = geometry.value_heads // attention_tp * geometry.value_head_dim * geometry.key_head_dim
    return StateBytes(
        width // attention_tp * columns * _WINDOW_BYTES, elements * STATE_BYTES[dtype or geometry.dtype], columns
    )


@dataclass(frozen=True)
class StateOptions:
    """What the slots depend on. `slots` and `requests` are of the whole instance, shared out by `groups` of attention data parallelism."""

    slots: int | None
    requests: int | None
    groups: int
    draft_tokens: int | None
    radix_cache: bool
    ratio: float | None
    extra_buffer: bool
    overlap: bool


@dataclass(frozen=True)
class StateBudget:
    """`slots` of the pool, without its padding slot, and the GiB that are left for tokens."""

    slots: int
    rest_gib: float


def slots_of_request(options: StateOptions, rules: SizingRules) -> int:
    """Slots that a running request takes at most: 1 without a radix cache, else 3 and what tracking takes."""
    if not options.radix_cache:
        return 1
    track = rules.state_track_slots
    if not options.extra_buffer:
        return _SLOTS_OF_REQUEST + track.plain
    single = {"speculation": options.draft_tokens is not None, "no_overlap": not options.overlap}[track.single_when]
    return _SLOTS_OF_REQUEST + (track.single if single else track.double)


def state_budget(rest_gib: float, bytes_of_request: int, options: StateOptions, rules: SizingRules) -> StateBudget:
    """The engine's steps, in floats of GiB (`handle_max_mamba_cache`, SGLang since 0.5.5)."""
    return _BUDGETS[rules.state_budget](rest_gib, bytes_of_request, options, rules)


def _share(rest_gib: float, options: StateOptions) -> float:
    ratio = _DEFAULT_RATIO if options.ratio is None else options.ratio
    return rest_gib * ratio / (1 + ratio) * GIB


def _slots_asked(options: StateOptions, rules: SizingRules) -> int | None:
    """Slots that do not depend on memory: told outright, or as many as may run without a radix cache."""
    if options.slots is not None and (rules.state_explicit_with_radix or not options.radix_cache):
        return options.slots // options.groups
    if options.radix_cache:
        return None
    if options.requests is not None:
        return options.requests // options.groups
    return rules.state_slots_without_radix // options.groups if rules.state_slots_without_radix else None


def _divided(rest_gib: float, size: int, options: StateOptions, rules: SizingRules) -> StateBudget:
    """0.5.5 and 0.5.6: each slot has room for its draft tokens' states too."""
    copies = 1 + (options.draft_tokens or 0)
    asked = _slots_asked(options, rules)
    slots = int(_share(rest_gib, options) // size // copies) // options.groups if asked is None else asked
    return StateBudget(slots, rest_gib - slots * size * copies / GIB)


def _reserved_by_ratio(rest_gib: float, size: int, options: StateOptions, rules: SizingRules) -> StateBudget:
    """0.5.7: draft tokens' states of all requests come first, unless the slots are told."""
    asked = _slots_asked(options, rules)
    if asked is None and options.draft_tokens is not None:
        rest_gib = rest_gib - size * (options.requests or 0) * options.draft_tokens / GIB
    slots = int(_share(rest_gib, options) // size) if asked is None else asked
    return StateBudget(slots, rest_gib - slots * size / GIB)


def _reserved(rest_gib: float, size: int, options: StateOptions, rules: SizingRules) -> StateBudget:
    """0.5.8 to 0.5.12: draft tokens' states come first in any case."""
    if options.draft_tokens is not None:
        rest_gib = rest_gib - size * ((options.requests or 0) // options.groups) * options.draft_tokens / GIB
    asked = _slots_asked(options, rules)
    slots = int(_share(rest_gib, options) // size) if asked is None else asked
    return StateBudget(slots, rest_gib - slots * size / GIB)


def _joint(rest_gib: float, size: int, options: StateOptions, rules: SizingRules, padding: int = 0) -> StateBudget:
    """0.5.13 to 0.5.16: slots and draft tokens' states share the states' part; since 0.5.17 with a padding slot each."""
    drafts, ratio = options.draft_tokens or 0, slots_of_request(options, rules)
    slots = _slots_asked(options, rules)
    if slots is None and drafts:
        share = _share(rest_gib, options) - padding * size * (1 + drafts)
        slots = int(share // (size * (1 + drafts / ratio)))
    elif slots is None:
        slots = int((_share(rest_gib, options) - padding * size) // size)
    if drafts:
        requests = min((options.requests or 0) // options.groups, slots // ratio)
        if options.slots is None and not options.radix_cache:
            requests = slots
        rest_gib = rest_gib - size * (requests + padding) * drafts / GIB
    return StateBudget(slots, rest_gib - (slots + padding) * size / GIB)


def _padded(rest_gib: float, size: int, options: StateOptions, rules: SizingRules) -> StateBudget:
    return _joint(rest_gib, size, options, rules, padding=1)


_BUDGETS: Mapping[StateSharing, Callable[[float, int, StateOptions, SizingRules], StateBudget]] = {
    "divided": _divided,
    "reserved_by_ratio": _reserved_by_ratio,
    "reserved": _reserved,
    "joint": _joint,
    "padded": _padded,
}


def draft_state_bytes(one: StateBytes, draft_tokens: int, shared_window: bool) -> int:
    """Bytes in one layer that a request's draft tokens take while they are verified: a state and a window each.

    `shared_window` (0.5.14 on, drafts in a chain, gated delta nets and Mamba 2): windows overlap, D + K - 2 columns in all.
    """
    columns = draft_tokens + one.columns - 1 if shared_window else draft_tokens * one.columns
    return one.state * draft_tokens + (one.window // one.columns * columns if one.columns else 0)


_KDA = "Kimi"  # Kimi-Linear's windows do not overlap


@dataclass(frozen=True)
class StateSizes:
    """`slots` without the padding slot; `rest_gib` is left for tokens; `request_limit` may run at once."""

    slots: int
    rest_gib: float
    request_limit: int


def state_sizes(inputs: PoolInputs, attention: HybridGeometry, rest_gib: float) -> StateSizes:
    """Since 0.5.17 a request is charged with the states of the fullest stage, before that with those of all layers."""
    options = _options(inputs)
    one = _bytes_of_request(inputs, attention)
    layers = attention.pattern.count("l")
    size = one.total * layers
    if inputs.rules.state_budget == "padded" and inputs.parallelism.pp > 1:
        fullest = max(attention.pattern[stage.start : stage.stop].count("l") for stage in inputs.stages)
        size = int(size * (fullest / layers))
    if size <= 0:
        return StateSizes(0, rest_gib, 0)
    budget = state_budget(rest_gib, size, options, inputs.rules)
    limit = budget.slots // slots_of_request(options, inputs.rules)
    if inputs.rules.state_budget == "reserved" and options.draft_tokens is not None and options.requests is not None:
        limit = min(limit, options.requests // options.groups)  # the states of drafts were reserved for just those
    return StateSizes(budget.slots, budget.rest_gib, limit)


def state_pools(
    inputs: PoolInputs, attention: HybridGeometry, sizes: StateSizes, requests: int, stage: range
) -> tuple[Pool, ...]:
    """The slots, and with speculation the states of tokens that are being verified: of each slot up to 0.5.6, of each request since."""
    one = _bytes_of_request(inputs, attention)
    pattern = attention.pattern[stage.start : stage.stop] if inputs.rules.state_stage_layers else attention.pattern
    layers = pattern.count("l")
    pools = [Pool("state pool", "state", sizes.slots, one.total * layers, 1)]
    speculation = inputs.speculation
    if speculation is not None:
        chain = speculation.topk <= 1 and not inputs.model.architecture.startswith(_KDA)
        drafted = draft_state_bytes(one, speculation.draft_tokens, inputs.rules.state_window_shared and chain)
        slots = sizes.slots if inputs.rules.state_budget == "divided" else requests
        pools.append(Pool("states of drafts", "draft_state", slots, drafted * layers, 1))
    return tuple(pools)


def _bytes_of_request(inputs: PoolInputs, attention: HybridGeometry) -> StateBytes:
    """In one layer. Up to 0.5.8 states are float32 unless --mamba-ssm-dtype says otherwise, whatever the checkpoint says."""
    dtype = inputs.options.state_dtype or (None if inputs.rules.state_dtype_of_config else "float32")
    return state_bytes(attention.state, inputs.parallelism.attention_tp, dtype)


def _options(inputs: PoolInputs) -> StateOptions:
    options = inputs.options
    return StateOptions(
        slots=options.max_state_slots,
        requests=inputs.requests_asked,
        groups=inputs.parallelism.dp,
        draft_tokens=inputs.speculation.draft_tokens if inputs.speculation is not None else None,
        radix_cache=options.radix_cache,
        ratio=options.state_full_memory_ratio,
        extra_buffer=bool(options.state_extra_buffer),
        overlap=options.overlap_schedule,
    )
