# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How ranks share a model, which layers a pipeline stage holds, and what drafts. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass

from ...model.spec import ModelSpec
from ...sglang.sizing_rules import SizingRules


@dataclass(frozen=True)
class Parallelism:
    """`dp` above 1 means attention data parallelism: tp ranks in dp groups, each group with a pool of its own. World size: tp * pp."""

    tp: int = 1
    pp: int = 1
    dp: int = 1

    @property
    def attention_tp(self) -> int:
        return self.tp // self.dp

    @property
    def world(self) -> int:
        return self.tp * self.pp


@dataclass(frozen=True)
class Speculation:
    """`algorithm` as the engine names it, in capitals; `draft` is None where the checkpoint's own MTP layers draft."""

    algorithm: str
    steps: int
    topk: int
    draft_tokens: int
    draft: ModelSpec | None = None


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
