# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the card to the base of the fraction, and the weights of one rank. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.blackwell.inference.plugins.module_utils.core.ledger import Line
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB, MIB, gib_to_bytes
from ansible_collections.blackwell.inference.plugins.module_utils.planning.calibration import Calibration
from ansible_collections.blackwell.inference.plugins.module_utils.planning.host_seen import GpuSeen, HostSeen
from ansible_collections.blackwell.inference.plugins.module_utils.planning.model_spec import ModelSpec

# RTX PRO 6000 Blackwell, driver of early 2026: nvidia-smi shows 97,887 MiB in all, NVML 95.01 GiB free on the empty card,
# and the engine found 94.04 GiB free when its 8 ranks were about to load (design host, 2026-02-24).
DRIVER_BYTES = 97_887 * MIB - gib_to_bytes("95.01")
CONTEXT_BYTES = gib_to_bytes("95.01") - gib_to_bytes("94.04")
# Norms, routers, latent projections and the vision tower are whole on every rank. Kimi-K2.5's come to 2 to 3 % of its
# checkpoint; where nothing better is known 3 % are taken.
_REPLICATED_SHARE = 0.03
# Cards of one name differ by less than this in what their driver takes; more than this is another tenant.
_EMPTY_WITHIN_BYTES = 256 * MIB


def gpu_base(
    gpus: Sequence[GpuSeen], host: HostSeen, calibration: Calibration, ranks: int
) -> tuple[Line, tuple[Line, ...], int]:
    """(capacity, what is gone before the load, base): the poorest card decides, as the engine takes the minimum over all ranks."""
    if host.free_before_load_bytes is not None:
        return (
            Line("free before the weights are loaded", host.free_before_load_bytes, "operator"),
            (),
            host.free_before_load_bytes,
        )
    poorest = min(gpus, key=lambda gpu: (_free_bytes(gpu), gpu.index))
    free = _free_bytes(poorest)
    context, source = _context(poorest, calibration, ranks)
    capacity = Line(
        f"free on the poorest of {ranks} cards" if ranks > 1 else "free on the card", free, _free_source(poorest)
    )
    return capacity, (Line("CUDA context and NCCL", context, source),), free - context


def _context(card: GpuSeen, calibration: Calibration, ranks: int) -> tuple[int, str]:
    """What goes between an empty card and the load. A measured base is met exactly on a card as empty as it was then."""
    free, empty = _free_bytes(card), max(0, card.total_bytes - DRIVER_BYTES)
    measured = calibration.free_before_load_bytes
    if measured is None or not calibration.fits(ranks, card.total_bytes):
        return min(CONTEXT_BYTES, free), "estimate: as on the design host"
    taken_by_others = empty - free
    known = empty - measured if taken_by_others > _EMPTY_WITHIN_BYTES else free - measured
    return min(max(0, known), free), calibration.source


def weights_line(model: ModelSpec, host: HostSeen, calibration: Calibration, ranks: int, base_bytes: int) -> Line:
    """The weights of one rank: measured by anybody, else from the checkpoint's size."""
    if host.free_after_load_bytes is not None:
        return Line("weights", max(0, base_bytes - host.free_after_load_bytes), "operator")
    if calibration.weights_bytes is not None and (calibration.ranks is None or calibration.ranks == ranks):
        return Line("weights", calibration.weights_bytes, calibration.source)
    weights = model.weights
    if weights.per_rank_bytes is not None and weights.per_rank_tp in (None, ranks):
        return Line("weights", weights.per_rank_bytes, "profile")
    return estimated_weights(model, ranks)


def estimated_weights(model: ModelSpec, ranks: int) -> Line:
    """Sharded tensors divided by the ranks, replicated ones whole."""
    weights = model.weights
    if ranks == 1:
        return Line("weights", weights.total_bytes, weights.source)
    if weights.replicated_bytes is None:
        replicated = int(weights.total_bytes * _REPLICATED_SHARE)
        source = f"estimate: {weights.source}, 3 % replicated"
    else:
        replicated, source = (
            min(weights.replicated_bytes, weights.total_bytes),
            f"estimate: {weights.source}, replicated by tensor name",
        )
    sharded = weights.total_bytes - replicated
    return Line("weights", replicated + -(-sharded // ranks), source)


def _free_bytes(gpu: GpuSeen) -> int:
    return max(0, gpu.total_bytes - DRIVER_BYTES) if gpu.free_bytes is None else gpu.free_bytes


def _free_source(gpu: GpuSeen) -> str:
    if gpu.free_bytes is not None:
        return gpu.source
    return f"estimate: {gpu.total_bytes / GIB:.2f} GiB less the driver's {DRIVER_BYTES / GIB:.2f}"
