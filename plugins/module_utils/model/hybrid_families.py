# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From config.json to hybrids: layers with a state or a sliding window among those that see every token. Private to the collection, may change any time.

A state is kept once a request: a window of a convolution, and a matrix a head (`StateGeometry`).

The geometry says what the layers are. Whether sliding ones get a pool of their own is a fact of the engine's version, which goes by
the architecture: where that has none, every layer keeps every token, with the sizes of the full layers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Callable

from ..core.fields import Fields, describe
from .attention import Attention, HybridGeometry, MlaGeometry, OtherAttention, SlidingGeometry, StateGeometry
from .keys import MAX_HEADS, gqa_of, heads_of, pattern_of

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
    values of an earlier layer (num_kv_shared_layers) get rows in the pool all the same (SGLang since 0.5.11).
    """
    sliding = gqa_of(text, v_head_dim_key="head_dim")
    heads_key = "num_global_key_value_heads" if text.data.get("attention_k_eq_v") is True else "num_key_value_heads"
    full = gqa_of(text, heads_key, "global_head_dim", "global_head_dim", fallback=sliding)
    window = _window(text, "sliding_window_size", "sliding_window", "window_size")
    return SlidingGeometry(full, sliding, window, pattern_of(text, "layer_types", layers, _LETTERS))


_DTYPES = {"bfloat16": "bfloat16", "float16": "float16", "float32": "float32"}
_KDA = ("KimiLinearForCausalLM", "KimiK3LinearForCausalLM", "KimiK3ForConditionalGeneration")
_GDN_INTERVAL = 4  # full_attention_interval where a Qwen3-Next checkpoint does not say it
_NEMOTRON: dict[object, str] = {"*": "f", "M": "l", "-": "n", "E": "n"}
_NEMOTRON_WORDS: dict[object, str] = {"attention": "f", "mamba": "l", "mlp": "n", "moe": "n"}
_GRANITE: dict[object, str] = {"attention": "f", "mamba": "l"}
_GDN: dict[object, str] = {"full_attention": "f", "linear_attention": "l"}


def hybrid_reader(text: Fields, architecture: str) -> Callable[[Fields, int], Attention] | None:
    """What reads this checkpoint, or None where no layer keeps a state."""
    if text.has("linear_attn_config"):
        return _kda if architecture in _KDA else _unknown
    if text.has("linear_num_value_heads") or text.has("full_attention_interval"):
        return _gdn
    if architecture.startswith("NemotronH") and (text.has("hybrid_override_pattern") or text.has("layers_block_type")):
        return _nemotron
    kinds = text.data.get("layer_types")
    if architecture.startswith("GraniteMoeHybrid") and isinstance(kinds, list) and "mamba" in kinds:
        return _granite
    states = ("hybrid_override_pattern", "mamba_d_state", "ssm_state_size", "ssm_cfg")
    return _unknown if any(text.has(key) for key in states) and not architecture.startswith("Granite") else None


def _unknown(text: Fields, layers: int) -> Attention:
    return OtherAttention("layers that keep a state whose size is not known here", heads_of(text))


def _state_dtype(text: Fields) -> str:
    """mamba_ssm_dtype; a value that the engine does not know it takes for float32, with a warning."""
    value = text.data.get("mamba_ssm_dtype")
    return _DTYPES.get(value, "float32") if isinstance(value, str) else "float32"


def _hybrid(full: Attention, state: StateGeometry, pattern: str, heads: int) -> Attention:
    if "l" not in pattern:
        return full
    if "f" not in pattern or isinstance(full, OtherAttention):
        return OtherAttention("layers that keep a state, and none that attends", heads)
    return HybridGeometry(full, state, pattern)  # type: ignore[arg-type]


def _gdn(text: Fields, layers: int) -> Attention:
    """Qwen3-Next, Qwen3.5: gated delta net. The engine goes by full_attention_interval, whatever layer_types says."""
    state = StateGeometry(
        value_heads=text.whole("linear_num_value_heads", 1, MAX_HEADS),
        key_heads=text.whole("linear_num_key_heads", 1, MAX_HEADS),
        value_head_dim=text.whole("linear_value_head_dim", 1, MAX_HEADS),
        key_head_dim=text.whole("linear_key_head_dim", 1, MAX_HEADS),
        conv_kernel=text.whole("linear_conv_kernel_dim", 1, MAX_HEADS),
        dtype=_state_dtype(text),
    )
    if text.has("full_attention_interval") or not text.has("layer_types"):
        interval = text.optional_whole("full_attention_interval", 1, MAX_HEADS) or _GDN_INTERVAL
        pattern = "".join("f" if (layer + 1) % interval == 0 else "l" for layer in range(layers))
    else:
        pattern = pattern_of(text, "layer_types", layers, _GDN)
    return _hybrid(gqa_of(text), state, pattern, heads_of(text))


def _kda(text: Fields, layers: int) -> Attention:
    """Kimi Linear: kda_layers counts from 1. The engine gives its state float32 whatever the checkpoint says."""
    linear = text.within("linear_attn_config")
    heads, size = linear.whole("num_heads", 1, MAX_HEADS), linear.whole("head_dim", 1, MAX_HEADS)
    listed = linear.data.get("kda_layers")
    if not isinstance(listed, list) or any(not isinstance(layer, int) for layer in listed):
        raise linear.error(
            f"{linear.where}: kda_layers is {describe(listed)}; expected a list of layer numbers: {linear.advice}."
        )
    stateful = set(listed)
    full = MlaGeometry(
        text.whole("kv_lora_rank", 1, MAX_HEADS), text.whole("qk_rope_head_dim", 1, MAX_HEADS), heads_of(text)
    )
    state = StateGeometry(heads, heads, size, size, linear.whole("short_conv_kernel_size", 1, MAX_HEADS))
    pattern = "".join("l" if layer + 1 in stateful else "f" for layer in range(layers))
    return _hybrid(full, state, pattern, heads_of(text))


def _nemotron(text: Fields, layers: int) -> Attention:
    """Nemotron-H: one letter a layer, * attention, M Mamba 2, - and E layers without a cache."""
    state = StateGeometry(
        value_heads=text.whole("mamba_num_heads", 1, MAX_HEADS),
        key_heads=text.whole("n_groups" if text.has("n_groups") else "mamba_n_groups", 1, MAX_HEADS),
        value_head_dim=text.whole("mamba_head_dim", 1, MAX_HEADS),
        key_head_dim=text.whole("ssm_state_size", 1, MAX_HEADS),
        conv_kernel=text.whole("conv_kernel" if text.has("conv_kernel") else "mamba_d_conv", 1, MAX_HEADS),
        dtype=_state_dtype(text),
    )
    pattern = (
        pattern_of(text, "hybrid_override_pattern", layers, _NEMOTRON)
        if text.has("hybrid_override_pattern")
        else pattern_of(text, "layers_block_type", layers, _NEMOTRON_WORDS)
    )
    head_dim = "head_dim" if text.has("head_dim") else "attention_head_dim"
    return _hybrid(gqa_of(text, head_dim_key=head_dim), state, pattern, heads_of(text))


def _granite(text: Fields, layers: int) -> Attention:
    """Granite 4 hybrids: Mamba 2 with a float32 state."""
    heads = text.whole("mamba_n_heads", 1, MAX_HEADS)
    state = StateGeometry(
        value_heads=heads,
        key_heads=text.whole("mamba_n_groups", 1, MAX_HEADS),
        value_head_dim=text.whole("mamba_d_head", 1, MAX_HEADS),
        key_head_dim=text.whole("mamba_d_state", 1, MAX_HEADS),
        conv_kernel=text.whole("mamba_d_conv", 1, MAX_HEADS),
    )
    return _hybrid(gqa_of(text), state, pattern_of(text, "layer_types", layers, _GRANITE), heads_of(text))
