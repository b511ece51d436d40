# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What rules a plan out before any arithmetic. Private to the collection, may change any time."""

from __future__ import annotations

from typing import Callable

from ..core.errors import Refusal
from ..model.attention import GqaGeometry, OtherAttention, kv_geometries
from ..model.spec import ModelSpec
from .device.pool_inputs import pool_options, refuses_drafts
from .device.refusals import CARD_CHECKS
from .request.parallelism import MTP_ALGORITHMS
from .request.request import PlanRequest

# Flags whose memory the plan does not count: other parallelisms, adapters. What a wish says is refused among the flags before this.
UNPLANNED = (
    "attention-context-parallel-size",
    "attention-data-parallel-size",
    "attn-cp-size",
    "attn-dp-size",
    "data-parallel-size",
    "dp-size",
    "enable-dp-attention",
    "enable-lora",
    "lora-paths",
    "nnodes",
)
_NEUTRAL: tuple[object, ...] = (None, False, 0, 1, "", [])
_TP_SHOWN = 64


def preflight(request: PlanRequest) -> tuple[Refusal, ...]:
    """Refusals after which no number would mean anything."""
    return tuple(refusal for refusal in (check(request) for check in _CHECKS) if refusal is not None)


def _attention(request: PlanRequest) -> Refusal | None:
    attention = request.model.attention
    if not isinstance(attention, OtherAttention):
        return None
    return Refusal(
        "attention",
        f"{request.model.name} ({request.model.architecture}) has {attention.what}; planning knows multi-head, grouped-query, latent (MLA), sliding-window and "
        "linear attention. Choose such a model.",
    )


def possible_tp(model: ModelSpec, dp: int) -> list[int]:
    """The tensor parallel sizes that divide what has to be divided."""
    return [
        tp for tp in range(dp, min(_TP_SHOWN, model.attention.heads * dp) + 1, dp) if _divides(model, tp, dp) is None
    ]


def _divides(model: ModelSpec, tp: int, dp: int) -> str | None:
    """What is wrong with a size. Attention is divided among the ranks of one data parallel group; experts are each divided among all ranks."""
    attention, group = model.attention, tp // dp
    if attention.heads % group:
        return f"does not divide its {attention.heads} attention heads"
    for geometry in kv_geometries(attention):
        if isinstance(geometry, GqaGeometry) and geometry.kv_heads % group and group % geometry.kv_heads:
            return f"does not divide its {geometry.kv_heads} key-value heads, nor is it a multiple of them"
    if model.experts is not None and model.experts < tp:
        return f"is more than its {model.experts} experts"
    return None


def _tensor_parallel(request: PlanRequest) -> Refusal | None:
    tp, dp = request.serving.tp, request.serving.dp
    if tp % dp:
        return Refusal(
            "data_parallel",
            f"serving.dp is {dp} and serving.tp is {tp}; attention data parallelism divides the ranks of tp into groups: "
            f"set dp to one of {', '.join(str(number) for number in range(1, tp + 1) if tp % number == 0)}.",
        )
    what = _divides(request.model, tp, dp)
    if what is None:
        return None
    choices = ", ".join(str(size) for size in possible_tp(request.model, dp)) or "those that a lower dp leaves"
    groups = "" if dp == 1 else f" in {dp} groups"
    return Refusal(
        "tensor_parallel",
        f"serving.tp is {tp}{groups}, which {what} ({request.model.name}): set tp to one of {choices}.",
    )


def _pipeline(request: PlanRequest) -> Refusal | None:
    if request.serving.pp <= request.model.layers:
        return None
    return Refusal(
        "pipeline",
        f"serving.pp is {request.serving.pp} and {request.model.name} has {request.model.layers} layers; a stage needs one at least: lower pp.",
    )


def _speculation(request: PlanRequest) -> Refusal | None:
    """The engine drafts with a checkpoint of its own, or with the layers for multi-token prediction of the served one."""
    algorithm = request.serving.speculative_algorithm
    if algorithm is None or algorithm == "NGRAM":
        return None
    if request.serving.device == "cpu":
        return Refusal(
            "speculation",
            f"serving.speculative_algorithm is {algorithm} and device is cpu, where nobody has seen it work: leave it out.",
        )
    if refuses_drafts(request.model, pool_options(request), request.speculation, request.rules):
        return Refusal(
            "speculation",
            f"serving.speculative_algorithm is {algorithm}, and SGLang {request.rules.engine_version} ends the start of {request.model.name} "
            "where drafts meet a radix cache of states without an extra buffer. Set mamba-scheduler-strategy: extra_buffer (and "
            "SGLANG_ENABLE_SPEC_V2: '1' in environment) or disable-radix-cache in arguments, or choose 0.5.14 or newer.",
        )
    if request.draft is not None or (algorithm in MTP_ALGORITHMS and request.model.draft_layers):
        return None
    own = (
        "and none inside the checkpoint either (it has no MTP layers)"
        if algorithm in MTP_ALGORITHMS
        else "which this algorithm needs"
    )
    return Refusal(
        "speculation",
        f"serving.speculative_algorithm is {algorithm}, and no draft model is given, {own}. "
        "Set inference_draft_model_path to the draft's directory, or leave the algorithm out.",
    )


def _weights(request: PlanRequest) -> Refusal | None:
    if request.model.weights.total_bytes or request.arguments.get("load-format") == "dummy":
        return None
    return Refusal(
        "weights",
        f"The model directory of {request.model.name} holds no safetensors weights; expected at least one .safetensors file. "
        "Download the checkpoint, or set the argument load-format to dummy for random weights.",
    )


def _cpu_tokens(request: PlanRequest) -> Refusal | None:
    if request.serving.device != "cpu" or request.serving.max_total_tokens is not None:
        return None
    return Refusal(
        "max_total_tokens",
        "serving.device is cpu and max_total_tokens is not given; on a CPU the engine would take a fraction of "
        "the host's memory for its pool. Set max_total_tokens, for example 40000.",
    )


def _context(request: PlanRequest) -> Refusal | None:
    longest = request.model.max_position_embeddings
    if request.context_length <= longest:
        return None
    return Refusal(
        "context_length",
        f"serving.context_length is {request.context_length:,}; {request.model.name} declares {longest:,} "
        f"tokens at most, and the engine refuses more. Lower context_length.",
    )


def _unplanned(request: PlanRequest) -> Refusal | None:
    given = {name: request.arguments.get(name) for name in UNPLANNED}
    names = [name for name, value in given.items() if value is True or value not in _NEUTRAL]
    if not names:
        return None
    return Refusal(
        "unplanned_argument", f"arguments has {', '.join(names)}, whose memory planning does not count: leave it out."
    )


def _radix_cache(request: PlanRequest) -> Refusal | None:
    """Since 0.5.9 SGLang ends with an error when both are asked for."""
    if not request.serving.cached or not request.arguments.get("disable-radix-cache"):
        return None
    return Refusal(
        "radix_cache",
        "A host cache is asked for and arguments has disable-radix-cache; the host cache needs the radix cache, and the engine refuses both together. "
        "Remove disable-radix-cache, or set serving.hicache to false.",
    )


_CHECKS: tuple[Callable[[PlanRequest], Refusal | None], ...] = (
    _attention,
    _tensor_parallel,
    _pipeline,
    _speculation,
    *CARD_CHECKS,
    _weights,
    _cpu_tokens,
    _context,
    _radix_cache,
    _unplanned,
)
