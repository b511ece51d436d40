# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fraction that the engine would choose itself. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.units import MIB
from ...model.attention import MlaGeometry
from ...sglang.sizing_rules import SizingRules
from ..request.request import PlanRequest
from .graphs import MAX_PREFILL_TOKENS, prefill_chunk, prefill_sizes

_CONSTANT_MIB = 512
_MIB_OF_TOKEN = 1.5
_LEAST_TOKENS = 2048
_MIB_OF_REQUEST = 2
_MIB_OF_RANK = 1024 / 8
_LARGE_CARD_MIB, _LARGE_CARD_KEEPS_MIB = 60 * 1024, 10 * 1024
_MIB_OF_PREFILL_SIZE, _MIB_OF_MLA_PREFILL = 8, 1536
_MANY_REQUESTS = 300
_SIZE_SINCE_0_5_9 = 576
_USUAL_VISION = (24, 1024)  # layers and width of ViT-L/14


@dataclass(frozen=True)
class AutoFraction:
    """What the engine's choice depends on.

    `card_mib` is nvidia-smi's memory.total of the smallest card of the host. `chunk` and `graph_batch` are in effect; a chunk of 0 or less
    takes `max_prefill_tokens`. `prefill_graph_tokens`: the longest captured prefill, None without one. `vision` is (layers, width) of the
    image tower as the engine reads them, None for a model without one.
    """

    card_mib: int
    tp: int
    pp: int
    dp: int
    chunk: int
    max_prefill_tokens: int
    graph_batch: int
    mla: bool
    decode_graphs: bool = True
    prefill_graph_tokens: int | None = None
    algorithm: str | None = None
    vision: tuple[int, int] | None = None


def auto_fraction(asked: AutoFraction, rules: SizingRules) -> float:
    """--mem-fraction-static as the engine fills it in: (card - what it holds back) / card, to 3 places, less for an image tower.

    SGLang since 0.5.5 (`_handle_gpu_memory_settings`). Kimi-K2.5 on 8 cards of 97,887 MiB: 0.771456.
    """
    held = _held_back_mib(asked, rules)
    return round((asked.card_mib - held) / asked.card_mib, 3) * _vision_factor(asked.vision)


def _held_back_mib(asked: AutoFraction, rules: SizingRules) -> float:
    tokens = asked.chunk if asked.chunk > 0 else asked.max_prefill_tokens
    held = _CONSTANT_MIB + max(tokens, _LEAST_TOKENS) * _MIB_OF_TOKEN + asked.tp * asked.pp * _MIB_OF_RANK
    if asked.decode_graphs or not rules.auto_decode_backend:
        held += asked.graph_batch * _MIB_OF_REQUEST
    if asked.dp > 1:
        held += asked.graph_batch * asked.dp * (4.5 if asked.graph_batch > _MANY_REQUESTS else 3)
    before_floor, after_floor = _prefill_graph_mib(asked, rules)
    held += before_floor
    if asked.card_mib > _LARGE_CARD_MIB:
        held = max(held, _LARGE_CARD_KEEPS_MIB)
    return held + after_floor + _speculation_mib(asked.algorithm, rules)


def _prefill_graph_mib(asked: AutoFraction, rules: SizingRules) -> tuple[float, float]:
    """(before, after) the floor for large cards: a quarter or an eighth of a MiB a token in 0.5.6 and 0.5.7, 8 MiB a captured size since
    0.5.8, and 1,536 in all for MLA since 0.5.10.
    """
    tokens = asked.prefill_graph_tokens
    if tokens is None or rules.auto_prefill == "none":
        return 0, 0
    if rules.auto_prefill == "quarter":
        return 0, tokens // 4
    if rules.auto_prefill == "eighth":
        return 0, tokens // 8
    if rules.auto_prefill == "kinds" and asked.mla:
        return _MIB_OF_MLA_PREFILL, 0
    left_out = (_SIZE_SINCE_0_5_9,) if rules.auto_prefill == "fewer_sizes" else ()
    return len([size for size in prefill_sizes(tokens) if size not in left_out]) * _MIB_OF_PREFILL_SIZE, 0


def _speculation_mib(algorithm: str | None, rules: SizingRules) -> int:
    if algorithm is None or algorithm == "NGRAM":
        return 0
    return rules.auto_standalone_mib if algorithm == "STANDALONE" else rules.auto_speculation_mib


def _vision_factor(vision: tuple[int, int] | None) -> float:
    """0.95, and a tenth less for each time that the tower is as large again as the usual one, within 0.8 and 1.05."""
    if vision is None:
        return 1.0
    size = vision[0] * vision[1] ** 2 / (_USUAL_VISION[0] * _USUAL_VISION[1] ** 2)
    return 0.95 * max(0.8, min(1.05, 1.0 - 0.1 * (size - 1.0)))


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
