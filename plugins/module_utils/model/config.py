# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a checkpoint's config.json to the facts that planning needs, its quantisation among them. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.fields import Fields, is_whole
from .families import attention_of, is_multimodal, mtp_layers
from .keys import longest_context
from .spec import MAX_EXPERTS, MAX_LAYERS, MAX_VISION_ROTARY_DIM, MAX_WIDTH, ModelSpec, Weights

_MODELOPT = {"NVFP4": "modelopt_fp4", "FP8": "modelopt_fp8"}


def quantization_of(
    config: Mapping[str, Any], text: Mapping[str, Any], quant_config: Mapping[str, Any] | None
) -> tuple[str | None, str | None]:
    """(quantisation, KV dtype it implies or None). Only a ModelOpt checkpoint makes "auto" mean FP8 (SGLang since 0.5.5)."""
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
    scheme = declared.get("kv_cache_scheme")
    float8 = isinstance(scheme, Mapping) and scheme.get("type") == "float" and scheme.get("num_bits") == 8
    says_fp8 = str(declared.get("kv_cache_quant_algo") or "").upper() == "FP8"
    return _MODELOPT.get(algorithm, method), "fp8_e4m3" if says_fp8 or float8 else None


def _weight_types(declared: Mapping[str, Any]) -> list[str]:
    """`int4` of a compressed-tensors group, nothing for methods that say it in their name."""
    groups = declared.get("config_groups")
    if not isinstance(groups, Mapping):
        return []
    weights = [group.get("weights") for group in groups.values() if isinstance(group, Mapping)]
    return sorted({f"{row.get('type')}{row.get('num_bits')}" for row in weights if isinstance(row, Mapping)})


_EXPERT_KEYS = ("n_routed_experts", "num_local_experts", "num_experts")
# Where a multimodal checkpoint keeps its language model; the engine looks for them in this order (SGLang since 0.5.9).
_TEXT_KEYS = ("text_config", "llm_config", "language_config")
# float32 checkpoints are served in float16 unless told otherwise.
_DTYPES = {"bfloat16": "bfloat16", "float16": "float16", "float32": "float16"}
_ADVICE = "download it again, or choose a model that SGLang knows"


def text_fields(config: Mapping[str, Any], where: str) -> tuple[Fields, Fields, str]:
    """(the whole configuration, the language model's part of it, the key that holds that part or "")."""
    top = Fields.of(config, f"config.json of {where}", _ADVICE)
    key = next((key for key in _TEXT_KEYS if top.has(key)), "")
    return top, top.within(key) if key else top, key


_VISION_DEFAULTS = {"KimiK25ForConditionalGeneration": (27, 1152)}


def model_from_config(
    name: str,
    config: Mapping[str, Any],
    quant_config: Mapping[str, Any] | None,
    weights: Weights,
    identity: str,
    where: str,
) -> ModelSpec:
    """A ModelSpec; raises ModelError with a sentence for what is missing or absurd. The language model's figures stand in text_config where there is one."""
    top, text, text_key = text_fields(config, where)
    quantization, kv_cache_dtype = quantization_of(config, text.data, quant_config)
    dtype = _dtype(text, top)
    found = f"config.json {text_key}" if text_key else "config.json"
    architecture = _architecture(top)
    layers = _layers(text)
    vision_layers, vision_width = _vision_size(top.data.get("vision_config"), architecture)
    return ModelSpec(
        name=name,
        architecture=architecture,
        model_type=top.text("model_type"),
        quantization=quantization,
        dtype=dtype,
        kv_cache_dtype=kv_cache_dtype or dtype,
        layers=layers,
        hidden_size=text.whole("hidden_size", 1, MAX_WIDTH),
        vocab_size=text.whole("vocab_size", 1, MAX_WIDTH),
        max_position_embeddings=longest_context(text),
        multimodal=is_multimodal(top.data),
        experts=next((text.whole(key, 1, MAX_EXPERTS) for key in _EXPERT_KEYS if text.has(key)), None),
        attention=attention_of(text, architecture, layers),
        weights=weights,
        identity=identity,
        draft_layers=mtp_layers(text, architecture, MAX_LAYERS),
        vision_rotary_dim=_vision_rotary_dim(top.data.get("vision_config")),
        vision_layers=vision_layers,
        vision_width=vision_width,
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


def _architecture(top: Fields) -> str:
    names = top.data.get("architectures")
    if not isinstance(names, list) or not names or not isinstance(names[0], str):
        return Fields({"architectures": None}, top.where, top.advice).text("architectures")
    return names[0]


def _vision_rotary_dim(vision: object) -> int | None:
    """Half a head, as Qwen3-VL's and GLM-4V's towers rotate it. None for a tower that is described in other words."""
    if not isinstance(vision, Mapping):
        return None
    width, heads = (int(vision[key]) if is_whole(vision.get(key)) else 0 for key in ("hidden_size", "num_heads"))
    half = width // heads // 2 if heads > 0 else 0
    return half if 0 < half <= MAX_VISION_ROTARY_DIM else None


def _vision_size(vision: object, architecture: str) -> tuple[int | None, int | None]:
    """(layers, width) of an image tower as the engine reads them for its own fraction (since 0.5.5): by these two names, else ViT-L/14's.

    Kimi-K2.5's tower has other names, so that the defaults of the engine's class for its config hold.
    """
    if not isinstance(vision, Mapping):
        return None, None
    layers, width = (
        int(vision[key]) if is_whole(vision.get(key)) and 0 < vision[key] <= most else None
        for key, most in (("num_hidden_layers", MAX_LAYERS), ("hidden_size", MAX_WIDTH))
    )
    usual = _VISION_DEFAULTS.get(architecture, (24, 1024))
    return layers or usual[0], width or usual[1]


def _layers(text: Fields) -> int:
    """num_hidden_layers; a Nemotron-H checkpoint of 2026 leaves it out and lists its layers."""
    listed = text.data.get("layers_block_type")
    if not text.has("num_hidden_layers") and isinstance(listed, list) and 0 < len(listed) <= MAX_LAYERS:
        return len(listed)
    return text.whole("num_hidden_layers", 1, MAX_LAYERS)


def _dtype(text: Fields, top: Fields) -> str:
    for fields in (text, top):
        for key in ("torch_dtype", "dtype"):
            if fields.has(key):
                return _DTYPES[fields.choice(key, _DTYPES)]
    return "bfloat16"
