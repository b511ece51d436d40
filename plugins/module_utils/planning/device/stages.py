# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which layers a pipeline stage holds. Private to the collection, may change any time."""

from __future__ import annotations

from ...core.sizing_rules import SizingRules


def stages(layers: int, pp: int, rules: SizingRules) -> tuple[range, ...]:
    """The layers of each stage, in order.

    layers // pp each; what remains goes one each to the last stages since 0.5.6, all of it to the last one in 0.5.5
    (`get_pp_indices`; SGLANG_PP_LAYER_PARTITION is not followed). 61 layers in 4 stages: 15, 15, 15, 16.
    """
    each, remainder = divmod(layers, pp)
    counts = [each] * pp
    if rules.stage_remainder == "last":
        counts[-1] += remainder
    else:
        for stage in range(pp - remainder, pp):
            counts[stage] += 1
    starts = [sum(counts[:stage]) for stage in range(pp)]
    return tuple(range(start, start + count) for start, count in zip(starts, counts))
