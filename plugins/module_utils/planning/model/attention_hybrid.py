# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers that keep a state among layers that keep keys and values, from config.json. Private to the collection, may change any time.

A state is kept once a request: a window of a convolution, and a matrix a head (`StateGeometry`).
"""

from __future__ import annotations

from typing import Callable

from ..fields import Fields, seen
from .attention import Attention, HybridGeometry, MlaGeometry, OtherAttention, StateGeometry
from .attention_keys import MAX_HEADS, gqa_of, heads_of, pattern_of

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
            f"{linear.where}: kda_layers is {seen(listed)}; expected a list of layer numbers: {linear.advice}."
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
