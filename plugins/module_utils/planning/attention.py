# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one token costs on one rank, by the kind of attention. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Union

from ansible_collections.blackwell.inference.plugins.module_utils.planning.fields import Fields

_MAX_HEADS = 65_536
_MAX_DIMENSION = 65_536

ELEMENT_BYTES = {"bfloat16": 2, "float16": 2, "fp8_e4m3": 1, "fp8_e5m2": 1}


@dataclass(frozen=True)
class MlaGeometry:
    """One latent and one rope key a layer, whole on every rank."""

    kv_lora_rank: int
    qk_rope_head_dim: int
    heads: int
    kind: str = "mla"

    def layer_bytes(self, tp: int, element_bytes: int) -> int:
        """KV bytes of one token in one layer on one rank: no division by tp. SGLang 0.5.9 to 0.5.23; Kimi-K2.5, bf16: (512 + 64) * 2."""
        return (self.kv_lora_rank + self.qk_rope_head_dim) * element_bytes


@dataclass(frozen=True)
class GqaGeometry:
    """Keys and values of each head; a rank keeps its share of the heads, and one whole head where there are fewer heads than ranks."""

    heads: int
    kv_heads: int
    head_dim: int
    v_head_dim: int
    kind: str = "gqa"

    def layer_bytes(self, tp: int, element_bytes: int) -> int:
        """KV bytes of one token in one layer on one rank. SGLang 0.5.7 to 0.5.23 (before 0.5.7 values counted head_dim)."""
        return max(1, self.kv_heads // tp) * (self.head_dim + self.v_head_dim) * element_bytes


@dataclass(frozen=True)
class OtherAttention:
    """Attention whose pools this version of the collection does not size; planning refuses it with `what`."""

    what: str
    heads: int
    kind: str = "other"


Attention = Union[MlaGeometry, GqaGeometry, OtherAttention]
Geometry = Union[MlaGeometry, GqaGeometry]


def cell_bytes(geometry: Geometry, layers: int, tp: int, kv_cache_dtype: str) -> int:
    """KV bytes of one token on one rank over all layers. Kimi-K2.5 in bf16: 70,272."""
    return geometry.layer_bytes(tp, ELEMENT_BYTES[kv_cache_dtype]) * layers


def attention_as_dict(attention: Attention) -> dict[str, Any]:
    return asdict(attention)


def attention_from_dict(fields: Fields) -> Attention:
    """Attention as a profile or `model_info` writes it."""
    kind = fields.choice("kind", {"mla": 1, "gqa": 1, "other": 1})
    heads = fields.whole("heads", 1, _MAX_HEADS)
    if kind == "mla":
        return MlaGeometry(
            fields.whole("kv_lora_rank", 1, _MAX_DIMENSION), fields.whole("qk_rope_head_dim", 1, _MAX_DIMENSION), heads
        )
    if kind == "gqa":
        head_dim = fields.whole("head_dim", 1, _MAX_DIMENSION)
        return GqaGeometry(
            heads=heads,
            kv_heads=fields.whole("kv_heads", 1, _MAX_HEADS),
            head_dim=head_dim,
            v_head_dim=fields.optional_whole("v_head_dim", 1, _MAX_DIMENSION) or head_dim,
        )
    return OtherAttention(fields.text("what"), heads)
