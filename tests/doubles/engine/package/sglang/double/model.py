# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the engine reads in a model directory: the geometry of the KV cache, the context length, the size of the weights."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Model:
    architecture: str
    model_type: str
    dtype: str
    kv_dtype: str
    quantization: str  # as 0.5.23 logs it: "quant=compressed-tensors, "
    multimodal: bool
    context: int
    layers: int
    latent: bool
    latent_elements: int  # per token and layer, latent attention
    kv_heads: int
    head_elements: int  # head_dim + v_head_dim
    shards: int
    weights_bytes: int
    raw: dict[str, Any]

    def cell_bytes(self, ranks: int, element_bytes: int) -> int:
        """KV bytes of one token on one rank."""
        if self.latent:
            return self.latent_elements * self.layers * element_bytes
        return max(1, self.kv_heads // ranks) * self.head_elements * self.layers * element_bytes


def read(directory: str, absent: str) -> Model:
    """The model in `directory`; text parameters of a multimodal one are below `text_config`, as Kimi-K2.5 and Qwen3.5 have them.

    `absent` is what the version says of a directory that it cannot find.
    """
    try:
        config = json.loads((Path(directory) / "config.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise OSError(absent.format(path=directory)) from None
    text: dict[str, Any] = config.get("text_config", config)
    heads = int(text["num_attention_heads"])
    head_dim = int(text.get("head_dim") or text["hidden_size"] // heads)
    latent = "kv_lora_rank" in text
    quantization = config.get("quantization_config") or text.get("quantization_config") or {}
    dtype = str(
        text.get("torch_dtype") or config.get("torch_dtype") or text.get("dtype") or config.get("dtype") or "bfloat16"
    )
    shards = _shards(Path(directory))
    return Model(
        architecture=config["architectures"][0],
        model_type=config.get("model_type", ""),
        dtype=dtype,
        kv_dtype="float8_e4m3fn" if "FP8" in str(quantization.get("kv_cache_quant_algo", "")) else dtype,
        quantization=f"quant={quantization['quant_method']}, " if "quant_method" in quantization else "",
        multimodal="vision_config" in config,
        context=int(text["max_position_embeddings"]),
        layers=len(_full_attention_layers(text)),
        latent=latent,
        latent_elements=int(text["kv_lora_rank"]) + int(text["qk_rope_head_dim"]) if latent else 0,
        kv_heads=int(text.get("num_key_value_heads", heads)),
        head_elements=head_dim + int(text.get("v_head_dim", head_dim)),
        shards=len(shards),
        weights_bytes=sum(path.stat().st_size for path in shards),
        raw=config,
    )


def _full_attention_layers(text: dict[str, Any]) -> list[int]:
    """Layers that keep KV; of a hybrid with linear attention these are every n-th, or those that `layer_types` names."""
    layers = range(int(text["num_hidden_layers"]))
    kinds = text.get("layer_types")
    if kinds:
        return [layer for layer in layers if kinds[layer] == "full_attention"]
    interval = text.get("full_attention_interval")
    return [layer for layer in layers if not interval or (layer + 1) % int(interval) == 0]


def _shards(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.safetensors"))
