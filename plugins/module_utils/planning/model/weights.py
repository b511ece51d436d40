# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The weights of one rank. Private to the collection, may change any time."""

from __future__ import annotations

from ...core.ledger import Line
from ...core.sizing_rules import SizingRules
from ..device.pools import Parallelism
from ..device.stages import stages
from .model_spec import ModelSpec

# Norms, routers, latent projections and projectors are whole on every rank; 3 % of Kimi-K2.5's checkpoint.
_REPLICATED_SHARE = 0.03


def rank_weights(model: ModelSpec, parallelism: Parallelism, rules: SizingRules) -> Line:
    """What the fullest rank holds of the served model, without layers for multi-token prediction: measured in the profile, else from the checkpoint."""
    weights = model.weights
    measured = parallelism.pp == parallelism.dp == 1 and weights.per_rank_tp in (None, parallelism.tp)
    if weights.per_rank_bytes is not None and measured:
        return Line("weights", weights.per_rank_bytes, "profile")
    counts = [len(stage) for stage in stages(model.layers, parallelism.pp, rules)]
    if weights.shares is not None:
        size = max(
            weights.shares.stage_bytes(stage, counts, parallelism.tp, parallelism.attention_tp)
            for stage in range(parallelism.pp)
        )
        return Line("weights", size, f"estimate: {weights.source}, placed tensor by tensor")
    if parallelism.world == 1:
        return Line("weights", weights.total_bytes, weights.source)
    if weights.replicated_bytes is None:
        replicated = int(weights.total_bytes * _REPLICATED_SHARE)
        source = f"estimate: {weights.source}, 3 % replicated"
    else:
        replicated = min(weights.replicated_bytes, weights.total_bytes)
        source = f"estimate: {weights.source}, replicated by tensor name"
    sharded = weights.total_bytes - replicated
    return Line("weights", replicated + -(-int(sharded * max(counts) / model.layers) // parallelism.tp), source)


def mtp_weights(model: ModelSpec, parallelism: Parallelism) -> Line | None:
    """What a rank holds of the layers for multi-token prediction when they draft; None where the checkpoint's tensors are not known.

    Embedding and head are the served model's own.
    """
    shares = model.weights.shares
    if shares is None or not shares.draft.total_bytes:
        return None
    size = shares.draft.rank_bytes(parallelism.tp, parallelism.attention_tp)
    return Line("draft weights", size, f"estimate: {model.weights.source}, placed tensor by tensor")
