# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What will be served: the facts of a checkpoint that planning needs. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core.fields import Fields
from .attention import ELEMENT_BYTES, Attention, attention_as_dict, attention_from_dict
from .keys import MAX_CONTEXT
from .weight_shares import WeightShares

MAX_LAYERS = 10_000
MAX_WIDTH = 10_000_000
MAX_EXPERTS = 100_000
MAX_VISION_ROTARY_DIM = 65_536
_MAX_BYTES = 1 << 60


@dataclass(frozen=True)
class Weights:
    """Sizes on disk. `replicated_bytes` is what every rank holds whole; `per_rank_bytes` was measured at `per_rank_tp` ranks.

    `shares` are the bytes by how they are divided, and beat `replicated_bytes` where they are known.
    """

    total_bytes: int
    files: int
    source: str
    tensors: int | None = None
    by_dtype: Mapping[str, int] = field(default_factory=dict)
    replicated_bytes: int | None = None
    per_rank_bytes: int | None = None
    per_rank_tp: int | None = None
    shares: WeightShares | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "total_bytes": self.total_bytes,
            "files": self.files,
            "tensors": self.tensors,
            "by_dtype": dict(sorted(self.by_dtype.items())),
            "replicated_bytes": self.replicated_bytes,
            "per_rank_bytes": self.per_rank_bytes,
            "per_rank_tp": self.per_rank_tp,
            "shares": None if self.shares is None else self.shares.as_dict(),
            "source": self.source,
        }

    @classmethod
    def from_dict(cls, fields: Fields) -> Weights:
        by_dtype = fields.within("by_dtype") if fields.data.get("by_dtype") else None
        return cls(
            total_bytes=fields.whole("total_bytes", 0, _MAX_BYTES),
            files=fields.whole("files", 0, 1_000_000),
            source=fields.optional_text("source") or "profile",
            tensors=fields.optional_whole("tensors", 0, _MAX_BYTES),
            by_dtype={name: by_dtype.whole(name, 0, _MAX_BYTES) for name in by_dtype.data} if by_dtype else {},
            replicated_bytes=fields.optional_whole("replicated_bytes", 0, _MAX_BYTES),
            per_rank_bytes=fields.optional_whole("per_rank_bytes", 1, _MAX_BYTES),
            per_rank_tp=fields.optional_whole("per_rank_tp", 1, 4096),
            shares=WeightShares.from_dict(fields.within("shares")) if fields.data.get("shares") else None,
        )


@dataclass(frozen=True)
class ModelSpec:
    """A checkpoint. `kv_cache_dtype` is what "auto" means for it, `max_position_embeddings` the longest context with its rope scaling.

    `layers` are the text model's own; `draft_layers` those for multi-token prediction (MTP, NEXTN) that the checkpoint holds beside them.
    `vision_rotary_dim` is half a head of the vision tower; None where there is none or its heads are not told. `vision_layers` and `vision_width` are its
    size as the engine reads it, which its own choice of a fraction depends on.
    """

    name: str
    architecture: str
    model_type: str
    quantization: str | None
    dtype: str
    kv_cache_dtype: str
    layers: int
    hidden_size: int
    vocab_size: int
    max_position_embeddings: int
    multimodal: bool
    experts: int | None
    attention: Attention
    weights: Weights
    identity: str | None = None
    draft_layers: int = 0
    vision_rotary_dim: int | None = None
    vision_layers: int | None = None
    vision_width: int | None = None
    sources: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "architecture": self.architecture,
            "model_type": self.model_type,
            "quantization": self.quantization,
            "dtype": self.dtype,
            "kv_cache_dtype": self.kv_cache_dtype,
            "layers": self.layers,
            "hidden_size": self.hidden_size,
            "vocab_size": self.vocab_size,
            "max_position_embeddings": self.max_position_embeddings,
            "multimodal": self.multimodal,
            "experts": self.experts,
            "attention": attention_as_dict(self.attention),
            "weights": self.weights.as_dict(),
            "identity": self.identity,
            "draft_layers": self.draft_layers,
            "vision_rotary_dim": self.vision_rotary_dim,
            "vision_layers": self.vision_layers,
            "vision_width": self.vision_width,
            "sources": dict(sorted(self.sources.items())),
        }


def model_from_dict(data: Any, where: str = "The model given to planning") -> ModelSpec:
    """A ModelSpec from its dictionary: what `model_info` returns, or the `model` of a profile."""
    fields = Fields.of(data, where, "see the ModelSpec in docs/interface.md")
    sources = fields.within("sources").data if fields.data.get("sources") else {}
    name, architecture, model_type = (fields.text(key) for key in ("name", "architecture", "model_type"))
    layers = fields.whole("layers", 1, MAX_LAYERS)
    attention = attention_from_dict(fields.within("attention"))
    _one_letter_a_layer(fields, attention, layers)
    return ModelSpec(
        name=name,
        architecture=architecture,
        model_type=model_type,
        quantization=fields.optional_text("quantization"),
        dtype=fields.choice("dtype", {"bfloat16": 1, "float16": 1, "float32": 1}),
        kv_cache_dtype=fields.choice("kv_cache_dtype", ELEMENT_BYTES),
        layers=layers,
        hidden_size=fields.whole("hidden_size", 1, MAX_WIDTH),
        vocab_size=fields.whole("vocab_size", 1, MAX_WIDTH),
        max_position_embeddings=fields.whole("max_position_embeddings", 1, MAX_CONTEXT),
        multimodal=fields.flag("multimodal"),
        experts=fields.optional_whole("experts", 1, MAX_EXPERTS),
        attention=attention,
        weights=Weights.from_dict(fields.within("weights")),
        identity=fields.optional_text("identity"),
        draft_layers=fields.optional_whole("draft_layers", 0, MAX_LAYERS) or 0,
        vision_rotary_dim=fields.optional_whole("vision_rotary_dim", 1, MAX_VISION_ROTARY_DIM),
        vision_layers=fields.optional_whole("vision_layers", 1, MAX_LAYERS),
        vision_width=fields.optional_whole("vision_width", 1, MAX_WIDTH),
        sources={str(key): str(value) for key, value in sources.items()},
    )


def _one_letter_a_layer(fields: Fields, attention: Attention, layers: int) -> None:
    for key in ("pattern", "index_pattern"):
        pattern = getattr(attention, key, None)
        if pattern is not None and len(pattern) != layers:
            raise fields.error(
                f"{fields.where}: attention.{key} has {len(pattern):,} letters for {layers:,} layers; expected one a layer: {fields.advice}."
            )
