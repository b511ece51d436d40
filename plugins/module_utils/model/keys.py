# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys of config.json that say how many heads of what size there are, and how long a context may be. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.fields import Fields, describe, is_number
from .attention import GqaGeometry

MAX_CONTEXT = 1_000_000_000
# The engine reads the first of these that is there (SGLang since 0.5.5).
_CONTEXT_KEYS = ("max_sequence_length", "seq_length", "max_seq_len", "model_max_length", "max_position_embeddings")


def longest_context(text: Fields) -> int:
    """The declared length, times a rope factor that is not yet in it (SGLang since 0.5.5)."""
    scaling = text.data.get("rope_scaling")
    factor: Any = 1
    if (
        isinstance(scaling, Mapping)
        and "original_max_position_embeddings" not in scaling
        and scaling.get("rope_type") != "llama3"
    ):
        factor = scaling.get("factor", 1)
    key = next((key for key in _CONTEXT_KEYS if text.has(key)), "max_position_embeddings")
    declared = text.whole(key, 1, MAX_CONTEXT)
    return max(1, int(min(float(MAX_CONTEXT), declared * factor))) if is_number(factor) and factor > 0 else declared


MAX_HEADS = 65_536
_MAX_WIDTH = 10_000_000
# The engine reads the first of these that is there (SGLang since 0.5.5).
_KV_HEAD_KEYS = (
    "n_head_kv",
    "num_kv_heads",
    "num_key_value_heads",
    "multi_query_group_num",
    "num_attention_groups",
)


def heads_of(text: Fields) -> int:
    return text.whole("num_attention_heads", 1, MAX_HEADS)


def gqa_of(
    text: Fields,
    kv_heads_key: str | None = None,
    head_dim_key: str = "head_dim",
    v_head_dim_key: str = "v_head_dim",
    fallback: GqaGeometry | None = None,
) -> GqaGeometry:
    """Keys and values of each head. What a key does not say is `fallback`'s, else as many key-value heads as heads, of hidden_size / heads elements."""
    heads = heads_of(text)
    keys = (kv_heads_key,) if kv_heads_key else _KV_HEAD_KEYS
    kv_heads = next((text.whole(key, 1, MAX_HEADS) for key in keys if text.has(key)), None)
    if kv_heads is None:
        kv_heads = fallback.kv_heads if fallback else 1 if text.data.get("multi_query") is True else heads
    head_dim = text.optional_whole(head_dim_key, 1, MAX_HEADS)
    if head_dim is None:
        head_dim = fallback.head_dim if fallback else max(1, text.whole("hidden_size", 1, _MAX_WIDTH) // heads)
    # 0 in some published configurations, where it means "as the keys".
    v_head_dim = text.optional_whole(v_head_dim_key, 0, MAX_HEADS) or head_dim
    return GqaGeometry(heads=heads, kv_heads=kv_heads, head_dim=head_dim, v_head_dim=v_head_dim)


def listed_layers(text: Fields, key: str, layers: int) -> list[object]:
    """The first `layers` entries of a list with one entry a layer; MTP layers may stand behind them."""
    found = text.data.get(key)
    if not isinstance(found, (list, str)):
        raise text.error(
            f"{text.where}: {key} is {describe(found)}; expected a list with one entry a layer: {text.advice}."
        )
    if len(found) < layers:
        raise text.error(
            f"{text.where}: {key} has {len(found)} entries for {layers:,} layers; expected one a layer: {text.advice}."
        )
    return list(found[:layers])


def pattern_of(text: Fields, key: str, layers: int, letters: dict[object, str]) -> str:
    """One letter a layer, from a list that names each layer's kind."""
    kinds = listed_layers(text, key, layers)
    strange = [kind for kind in kinds if not isinstance(kind, (str, int)) or kind not in letters]
    if strange:
        known = ", ".join(str(kind) for kind in letters)
        raise text.error(f"{text.where}: {key} names {describe(strange[0])}; expected one of {known}: {text.advice}.")
    return "".join(letters[kind] for kind in kinds)
