# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers with a sliding window among layers that see every token, from config.json. Private to the collection, may change any time.

The geometry says what the layers are. Whether they get a pool of their own is a fact of the engine's version, which goes by
the architecture: where that has none, every layer keeps every token, with the sizes of the full layers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Callable

from ..fields import Fields
from .attention import Attention, OtherAttention, SlidingGeometry
from .attention_keys import gqa_of, heads_of, pattern_of

_MAX_WINDOW = 1_000_000_000
_LETTERS: dict[object, str] = {"full_attention": "f", "sliding_attention": "s"}
_SWITCH: dict[object, str] = {0: "f", 1: "s"}
_LLAMA4_INTERVAL = 4  # every fourth layer sees every token; the engine counts so whatever the checkpoint says


def sliding_reader(text: Fields, architecture: str) -> Callable[[Fields, int], Attention] | None:
    """What reads this checkpoint, or None where all its layers are alike."""
    if architecture.startswith("Llama4") and text.has("attention_chunk_size"):
        return _llama4
    if isinstance(text.data.get("hybrid_layer_pattern"), list):
        return _mimo
    kinds = text.data.get("layer_types")
    if not isinstance(kinds, list) or all(kind == "full_attention" for kind in kinds):
        return None
    if any(kind not in ("full_attention", "sliding_attention") for kind in kinds):
        return _strange
    return _gemma4 if architecture.startswith(("Gemma4", "DiffusionGemma")) else _listed


def _strange(text: Fields, layers: int) -> Attention:
    kinds = text.data["layer_types"]
    names = sorted({kind for kind in kinds if isinstance(kind, str)} - {"full_attention", "sliding_attention"})
    return OtherAttention(
        f"layers of the kind {names[0][:60]}" if names else "layers of an unknown kind", heads_of(text)
    )


def _window(text: Fields, *keys: str) -> int:
    """The first of the keys that is there: sliding_window_size, sliding_window, window_size in the engine's order."""
    key = next((key for key in keys if text.has(key)), keys[0])
    return text.whole(key, 1, _MAX_WINDOW)


def _llama4(text: Fields, layers: int) -> SlidingGeometry:
    """Chunks of attention_chunk_size tokens; both kinds of layers have the same heads."""
    geometry = gqa_of(text)
    pattern = "".join("f" if (layer + 1) % _LLAMA4_INTERVAL == 0 else "s" for layer in range(layers))
    return SlidingGeometry(geometry, geometry, _window(text, "attention_chunk_size"), pattern)


def _mimo(text: Fields, layers: int) -> SlidingGeometry:
    """MiMo-V2: 1 in hybrid_layer_pattern is a sliding layer, with sizes of its own under swa_*."""
    full = gqa_of(text)
    sliding = gqa_of(text, "swa_num_key_value_heads", "swa_head_dim", "swa_v_head_dim", fallback=full)
    window = _window(text, "sliding_window_size", "sliding_window", "window_size")
    return SlidingGeometry(full, sliding, window, pattern_of(text, "hybrid_layer_pattern", layers, _SWITCH))


def _listed(text: Fields, layers: int) -> SlidingGeometry:
    """layer_types: gpt-oss, Gemma 3, Step 3.5 (whose sliding layers have their groups in attention_other_setting), Laguna and others."""
    full = gqa_of(text)
    if text.has("swa_num_key_value_heads") or text.has("swa_head_dim"):
        sliding = gqa_of(text, "swa_num_key_value_heads", "swa_head_dim", "swa_v_head_dim", fallback=full)
    elif isinstance(text.data.get("attention_other_setting"), Mapping):
        sliding = gqa_of(
            Fields({**text.data, **text.data["attention_other_setting"]}, text.where, text.advice, text.error),
            "num_attention_groups",
            fallback=full,
        )
    else:
        sliding = full
    window = _window(text, "sliding_window_size", "sliding_window", "window_size")
    return SlidingGeometry(full, sliding, window, pattern_of(text, "layer_types", layers, _LETTERS))


def _gemma4(text: Fields, layers: int) -> SlidingGeometry:
    """Gemma 4 states the sliding layers' sizes under the usual names and the full layers' under global_*.

    The global key-value heads count only where keys and values are one (attention_k_eq_v). Layers that share the keys and
    values of an earlier layer (num_kv_shared_layers) get rows in the pool all the same (SGLang 0.5.11 to 0.5.23).
    """
    sliding = gqa_of(text, v_head_dim_key="head_dim")
    heads_key = "num_global_key_value_heads" if text.data.get("attention_k_eq_v") is True else "num_key_value_heads"
    full = gqa_of(text, heads_key, "global_head_dim", "global_head_dim", fallback=sliding)
    window = _window(text, "sliding_window_size", "sliding_window", "window_size")
    return SlidingGeometry(full, sliding, window, pattern_of(text, "layer_types", layers, _LETTERS))
