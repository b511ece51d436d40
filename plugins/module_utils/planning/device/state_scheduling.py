# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a hybrid with states is scheduled by default, which decides how many states a request takes. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import replace

from ...core.sizing_rules import SizingRules
from ..model.attention import HybridGeometry
from ..model.model_spec import ModelSpec
from .pools import PoolWishes, Speculation


def scheduled(model: ModelSpec, wishes: PoolWishes, speculation: Speculation | None, rules: SizingRules) -> PoolWishes:
    """The wishes with radix cache, overlap and extra buffer as they take effect (`_handle_mamba_radix_cache`).

    Up to 0.5.13 there is no extra buffer unless one is asked for; 0.5.7 to 0.5.9 then give up the radix cache where drafts are
    verified. Since 0.5.14 the architectures that can have one do, unless batches do not overlap and pages hold one token.
    """
    if not isinstance(model.attention, HybridGeometry) or not wishes.radix_cache:
        return wishes
    buffer = wishes.state_extra_buffer
    if buffer is None:
        able = model.architecture in rules.extra_buffer_architectures
        buffer = able and (wishes.overlap_schedule or wishes.page_size > 1)
    if buffer:
        return replace(wishes, state_extra_buffer=True)
    if speculation is not None and rules.state_with_drafts == "no_radix_cache":
        return replace(wishes, state_extra_buffer=False, radix_cache=False)
    return replace(wishes, state_extra_buffer=False, overlap_schedule=False)


def refuses_drafts(model: ModelSpec, wishes: PoolWishes, speculation: Speculation | None, rules: SizingRules) -> bool:
    """Whether the engine ends the start of a hybrid for drafts beside a radix cache: 0.5.10 to 0.5.13 without an extra buffer."""
    found = scheduled(model, wishes, speculation, rules)
    return (
        isinstance(model.attention, HybridGeometry)
        and speculation is not None
        and rules.state_with_drafts == "refused"
        and found.radix_cache
        and not found.state_extra_buffer
    )
