# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the card to the base of the fraction, and the weights of one rank. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...core.ledger import Line
from ...core.units import GIB, MIB, gib_to_bytes
from ...model.spec import ModelSpec
from ...sglang.sizing_rules import SizingRules
from ..request.calibration import Calibration
from ..request.host import GpuState, HostState
from ..request.parallelism import Parallelism, Speculation, stages

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


# RTX PRO 6000 Blackwell, driver of early 2026: nvidia-smi shows 97,887 MiB in all, NVML 95.01 GiB free on the empty card,
# and the engine found 94.04 GiB free when its 8 ranks were about to load (design host, 2026-02-24).
DRIVER_BYTES = 97_887 * MIB - gib_to_bytes("95.01")
CONTEXT_BYTES = gib_to_bytes("95.01") - gib_to_bytes("94.04")
# Cards of one name differ by less than this in what their driver takes; more than this is another tenant.
_EMPTY_WITHIN_BYTES = 256 * MIB
_DRAFT = "draft weights"


def gpu_base(
    gpus: Sequence[GpuState], host: HostState, calibration: Calibration, ranks: int
) -> tuple[Line, tuple[Line, ...], int]:
    """(capacity, what is gone before the load, base): the poorest card decides, as the engine takes the minimum over all ranks."""
    if host.free_before_load_bytes is not None:
        return (
            Line("free before the weights are loaded", host.free_before_load_bytes, "operator"),
            (),
            host.free_before_load_bytes,
        )
    limiting = min(gpus, key=lambda gpu: (_free_bytes(gpu), gpu.index))
    free = _free_bytes(limiting)
    context, source = _context(limiting, calibration, ranks)
    capacity = Line(
        f"free on the poorest of {ranks} cards" if ranks > 1 else "free on the card", free, _free_source(limiting)
    )
    return capacity, (Line("CUDA context and NCCL", context, source),), free - context


def _context(card: GpuState, calibration: Calibration, ranks: int) -> tuple[int, str]:
    """What goes between an empty card and the load. A measured base is met exactly on a card as empty as it was then."""
    free, empty = _free_bytes(card), max(0, card.total_bytes - DRIVER_BYTES)
    measured = calibration.free_before_load_bytes
    if measured is None or not calibration.fits(ranks, card.total_bytes):
        return min(CONTEXT_BYTES, free), "estimate: as on the design host"
    taken_by_others = empty - free
    known = empty - measured if taken_by_others > _EMPTY_WITHIN_BYTES else free - measured
    return min(max(0, known), free), calibration.source


def weights_line(
    model: ModelSpec,
    host: HostState,
    calibration: Calibration,
    parallelism: Parallelism,
    base_bytes: int,
    rules: SizingRules,
) -> Line:
    """The weights of one rank: measured by anybody, else placed from the checkpoint."""
    if host.free_after_load_bytes is not None:
        return Line("weights", max(0, base_bytes - host.free_after_load_bytes), "operator")
    if calibration.weights_bytes is not None and calibration.shares_as(parallelism):
        return Line("weights", calibration.weights_bytes, calibration.source)
    return rank_weights(model, parallelism, rules)


def draft_weights_line(
    model: ModelSpec,
    speculation: Speculation | None,
    calibration: Calibration,
    parallelism: Parallelism,
    rules: SizingRules,
) -> Line | None:
    """What drafts: a checkpoint of its own, placed like the model, or layers of the model's checkpoint. None where nothing is loaded for it."""
    if speculation is None or speculation.algorithm == "NGRAM":
        return None
    if calibration.draft_weights_bytes is not None and calibration.shares_as(parallelism):
        return Line(_DRAFT, calibration.draft_weights_bytes, calibration.source)
    if speculation.draft is not None:
        line = rank_weights(speculation.draft, replace(parallelism, pp=1), rules)
        return Line(_DRAFT, line.size_bytes, line.source)
    placed = mtp_weights(model, parallelism)
    if placed is not None:
        return placed
    share = rank_weights(model, parallelism, rules).size_bytes * (model.draft_layers or 1) // model.layers
    return Line(_DRAFT, share, "estimate: as much as so many of the model's layers")


def _free_bytes(gpu: GpuState) -> int:
    return max(0, gpu.total_bytes - DRIVER_BYTES) if gpu.free_bytes is None else gpu.free_bytes


def _free_source(gpu: GpuState) -> str:
    if gpu.free_bytes is not None:
        return gpu.source
    return f"estimate: {gpu.total_bytes / GIB:.2f} GiB less the driver's {DRIVER_BYTES / GIB:.2f}"
