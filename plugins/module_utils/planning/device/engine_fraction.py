# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fraction that the engine would choose for a request, to compare with. Private to the collection, may change any time."""

from __future__ import annotations

from ...core.units import MIB
from ..model.attention import MlaGeometry
from ..request import PlanRequest
from .auto_fraction import AutoFraction, auto_fraction
from .prefill_chunk import MAX_PREFILL_TOKENS, prefill_chunk

_MLA_PREFILL_GRAPH_TOKENS = 2048


def engine_fraction(request: PlanRequest, graph_batch: int) -> float | None:
    """SGLang's own --mem-fraction-static; None on a CPU, and where an image tower's size is not known. A lost card is not listed, and so not counted."""
    serving, model = request.serving, request.model
    chunk = prefill_chunk(request)
    if chunk is None or (model.multimodal and (model.vision_layers is None or model.vision_width is None)):
        return None
    latent = isinstance(model.attention, MlaGeometry)
    captured = latent and request.prefill_graph and request.rules.prefill_graph_mla_bytes > 0
    vision = (model.vision_layers, model.vision_width) if model.vision_layers and model.vision_width else None
    asked = AutoFraction(
        card_mib=min(gpu.total_bytes for gpu in request.host.gpus if gpu.usable) // MIB,
        tp=serving.tp,
        pp=serving.pp,
        dp=serving.dp,
        chunk=chunk,
        max_prefill_tokens=serving.max_prefill_tokens or MAX_PREFILL_TOKENS,
        graph_batch=graph_batch,
        mla=latent,
        decode_graphs=request.decode_graphs,
        prefill_graph_tokens=_MLA_PREFILL_GRAPH_TOKENS if captured else None,
        algorithm=serving.speculative_algorithm,
        vision=vision,
    )
    return auto_fraction(asked, request.rules)
