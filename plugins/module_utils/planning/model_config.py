# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a checkpoint's config.json to the facts that planning needs. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.blackwell.inference.plugins.module_utils.planning.attention import (
    Attention,
    GqaGeometry,
    MlaGeometry,
    OtherAttention,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.fields import Fields, is_number
from ansible_collections.blackwell.inference.plugins.module_utils.planning.model_spec import (
    MAX_CONTEXT,
    MAX_EXPERTS,
    MAX_LAYERS,
    MAX_WIDTH,
    ModelSpec,
    Weights,
)

_MAX_HEADS = 65_536
# The engine reads the first of these that is there (0.5.9 to 0.5.23).
_CONTEXT_KEYS = ("max_sequence_length", "seq_length", "max_seq_len", "model_max_length", "max_position_embeddings")
_EXPERT_KEYS = ("n_routed_experts", "num_local_experts", "num_experts")
_MULTIMODAL_KEYS = ("vision_config", "audio_config", "vision_tower", "mm_vision_tower")
# A key that only checkpoints with layers of another kind have -> what those layers are.
_OTHER_LAYERS = {
    "index_head_dim": "a sparse-attention indexer",
    "full_attention_interval": "linear-attention layers",
    "linear_num_value_heads": "linear-attention layers",
    "linear_attn_config": "linear-attention layers",
    "hybrid_override_pattern": "state-space layers",
    "mamba_d_state": "state-space layers",
    "hybrid_layer_pattern": "sliding-window layers with a pool of their own",
    "attention_chunk_size": "chunked-attention layers with a pool of their own",
}
# float32 checkpoints are served in float16 unless told otherwise.
_DTYPES = {"bfloat16": "bfloat16", "float16": "float16", "float32": "float16"}


def model_from_config(
    name: str,
    config: Mapping[str, Any],
    quant_config: Mapping[str, Any] | None,
    weights: Weights,
    identity: str,
    where: str,
) -> ModelSpec:
    """A ModelSpec; raises ModelError with a sentence for what is missing or absurd. The text model's figures stand in text_config where there is one."""
    top = Fields.of(config, f"config.json of {where}", "download it again, or choose a model that SGLang knows")
    text = top.within("text_config") if top.has("text_config") else top
    quantization, kv_cache_dtype = quantization_of(config, text.data, quant_config)
    dtype = _dtype(text, top)
    found = "config.json text_config" if text is not top else "config.json"
    return ModelSpec(
        name=name,
        architecture=_architecture(top),
        model_type=top.text("model_type"),
        quantization=quantization,
        dtype=dtype,
        kv_cache_dtype=kv_cache_dtype or dtype,
        layers=text.whole("num_hidden_layers", 1, MAX_LAYERS),
        hidden_size=text.whole("hidden_size", 1, MAX_WIDTH),
        vocab_size=text.whole("vocab_size", 1, MAX_WIDTH),
        max_position_embeddings=longest_context(text),
        multimodal=any(top.has(key) for key in _MULTIMODAL_KEYS),
        experts=next((text.whole(key, 1, MAX_EXPERTS) for key in _EXPERT_KEYS if text.has(key)), None),
        attention=attention_of(text),
        weights=weights,
        identity=identity,
        sources={
            "attention": found,
            "layers": found,
            "max_position_embeddings": found,
            "quantization": "hf_quant_config.json" if quant_config else "config.json",
            "kv_cache_dtype": "hf_quant_config.json"
            if quant_config and kv_cache_dtype
            else ("config.json" if kv_cache_dtype else "dtype of config.json"),
            "weights": weights.source,
        },
    )


def attention_of(text: Fields) -> Attention:
    """The kind of attention and its dimensions."""
    heads = text.whole("num_attention_heads", 1, _MAX_HEADS)
    other = next((what for key, what in _OTHER_LAYERS.items() if text.has(key)), None)
    layer_types = text.data.get("layer_types")
    if other is None and isinstance(layer_types, list) and any(kind != "full_attention" for kind in layer_types):
        other = "layers of several kinds"
    if other is not None:
        return OtherAttention(other, heads)
    if text.has("kv_lora_rank"):
        return MlaGeometry(
            text.whole("kv_lora_rank", 1, _MAX_HEADS), text.whole("qk_rope_head_dim", 1, _MAX_HEADS), heads
        )
    head_dim = text.optional_whole("head_dim", 1, _MAX_HEADS) or max(
        1, text.whole("hidden_size", 1, MAX_WIDTH) // heads
    )
    return GqaGeometry(
        heads=heads,
        kv_heads=text.optional_whole("num_key_value_heads", 1, _MAX_HEADS) or heads,
        head_dim=head_dim,
        v_head_dim=text.optional_whole("v_head_dim", 1, _MAX_HEADS) or head_dim,
    )


def longest_context(text: Fields) -> int:
    """The engine's derived context length: the declared one, times a rope factor that is not yet in it (0.5.9 to 0.5.23)."""
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


def quantization_of(
    config: Mapping[str, Any], text: Mapping[str, Any], quant_config: Mapping[str, Any] | None
) -> tuple[str | None, str | None]:
    """(quantisation, KV dtype it implies or None). Only a ModelOpt checkpoint makes "auto" mean FP8."""
    found = (
        text.get("quantization_config")
        or config.get("quantization_config")
        or text.get("compression_config")
        or config.get("compression_config")
    )
    declared: dict[str, Any] = dict(found) if isinstance(found, Mapping) else {}
    modelopt = quant_config.get("quantization") if isinstance(quant_config, Mapping) else None
    if isinstance(modelopt, Mapping):
        declared = {"quant_method": "modelopt", **declared, **modelopt}
    method = declared.get("quant_method")
    if not isinstance(method, str):
        return None, None
    if not method.startswith("modelopt"):
        return " ".join([method, *_weight_types(declared)]), None
    algorithm = str(declared.get("quant_algo") or "").upper()
    name = {"NVFP4": "modelopt_fp4", "FP8": "modelopt_fp8"}.get(algorithm, method)
    scheme = declared.get("kv_cache_scheme")
    float8 = isinstance(scheme, Mapping) and scheme.get("type") == "float" and scheme.get("num_bits") == 8
    return name, "fp8_e4m3" if str(declared.get("kv_cache_quant_algo") or "").upper() == "FP8" or float8 else None


def _weight_types(declared: Mapping[str, Any]) -> list[str]:
    """`int4` of a compressed-tensors group, nothing for methods that say it in their name."""
    groups = declared.get("config_groups")
    if not isinstance(groups, Mapping):
        return []
    weights = [group.get("weights") for group in groups.values() if isinstance(group, Mapping)]
    return sorted({f"{row.get('type')}{row.get('num_bits')}" for row in weights if isinstance(row, Mapping)})


def _architecture(top: Fields) -> str:
    names = top.data.get("architectures")
    if not isinstance(names, list) or not names or not isinstance(names[0], str):
        return Fields({"architectures": None}, top.where, top.advice).text("architectures")
    return names[0]


def _dtype(text: Fields, top: Fields) -> str:
    for fields in (text, top):
        for key in ("torch_dtype", "dtype"):
            if fields.has(key):
                return _DTYPES[fields.choice(key, _DTYPES)]
    return "bfloat16"
