# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How ranks share a model, which layers a pipeline stage holds, and what drafts. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass

from ...model.spec import ModelSpec
from ...sglang.sizing_rules import SizingRules
from .serving import ServingPolicy


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


MTP_ALGORITHMS = ("EAGLE", "NEXTN")
"""Those that the checkpoint's own MTP layers can draft for; the engine calls the latter by the former's name."""


# One chain of three guesses: what the engine takes for MoE models by itself (since 0.5.5). Trees (topk above 1) need page size 1
# and are refused by some backends, so that nothing wider is chosen unasked.
_STEPS, _TOPK = 3, 1
WITHOUT_STEPS = ("DFLASH", "NGRAM")  # a block of guesses at once
_DRAFT_TOKENS = {"DFLASH": 16, "NGRAM": 12}  # the engine's own defaults


def speculation_of(serving: ServingPolicy, draft: ModelSpec | None) -> Speculation | None:
    """What drafts, with the engine's rule that a chain (topk 1) verifies one token more than it guesses."""
    algorithm = serving.speculative_algorithm
    if algorithm is None:
        return None
    steps, topk = serving.speculative_num_steps or _STEPS, serving.speculative_eagle_topk or _TOPK
    chain = topk == 1 and algorithm not in WITHOUT_STEPS
    asked = serving.speculative_num_draft_tokens
    draft_tokens = steps + 1 if chain else asked or _DRAFT_TOKENS.get(algorithm, steps + 1)
    return Speculation(algorithm, steps, topk, draft_tokens, draft)


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
