# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Generated models: a config.json as the engine reads it, beside the ModelSpec dictionary that planning takes."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

CONTEXTS = (4096, 8192, 32768, 40960, 131072, 163840, 262144)


@dataclass(frozen=True)
class Model:
    config: dict[str, Any]
    spec: dict[str, Any]


def llama(rng: random.Random) -> Model:
    """Grouped attention, often with fewer key-value heads than ranks."""
    kv_heads = rng.choice((1, 2, 3, 4, 8, 10, 16, 40))
    heads = kv_heads * rng.choice((1, 2, 4, 8))
    head_dim = rng.choice((32, 64, 80, 96, 128, 256))
    config = _config(rng, "LlamaForCausalLM", "llama", heads, head_dim) | {"num_key_value_heads": kv_heads}
    return Model(config, _spec(config, _gqa(heads, kv_heads, head_dim)))


def qwen3(rng: random.Random) -> Model:
    model = llama(rng)
    rename = {"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "num_experts": 128}
    return Model(model.config | rename, model.spec | {"architecture": "Qwen3MoeForCausalLM", "model_type": "qwen3_moe"})


def deepseek(rng: random.Random) -> Model:
    """Latent attention; MTP layers in some checkpoints."""
    config = _latent_config(rng, "DeepseekV3ForCausalLM", "deepseek_v3")
    return Model(config, _spec(config, _mla(config)))


def kimi(rng: random.Random) -> Model:
    """Latent attention behind text_config, with images."""
    text = _latent_config(rng, "DeepseekV3ForCausalLM", "kimi_k2") | {"num_nextn_predict_layers": 0}
    config = {
        "architectures": ["KimiK25ForConditionalGeneration"],
        "model_type": "kimi_k25",
        "text_config": text,
        "vision_config": {"vt_num_hidden_layers": 27, "vt_hidden_size": 1152},
        "dtype": "bfloat16",
    }
    spec = _spec(text, _mla(text)) | {
        "architecture": "KimiK25ForConditionalGeneration",
        "model_type": "kimi_k25",
        "multimodal": True,
    }
    return Model(config, spec)


def deepseek_sparse(rng: random.Random) -> Model:
    """Latent attention with the keys of a sparse indexer. Its rows in fp8 want a latent in blocks of 128."""
    config = _latent_config(rng, "DeepseekV32ForCausalLM", "deepseek_v32") | {
        "kv_lora_rank": rng.choice((128, 256, 512)),
        "index_head_dim": 128,  # the only one that the engine's pool takes
        "index_n_heads": 64,
        "index_topk": 2048,
    }
    return Model(config, _spec(config, _mla(config)))


def gpt_oss(rng: random.Random) -> Model:
    """Full and sliding-window layers of one shape."""
    kv_heads, head_dim = rng.choice((1, 2, 4, 8)), rng.choice((64, 128))
    heads = kv_heads * rng.choice((4, 8))
    pattern = _pattern(rng, "s", "f")
    config = _config(rng, "GptOssForCausalLM", "gpt_oss", heads, head_dim) | {
        "num_hidden_layers": len(pattern),
        "num_key_value_heads": kv_heads,
        "num_local_experts": 32,
        "sliding_window": rng.choice((128, 512, 1024)),
        "layer_types": ["sliding_attention" if kind == "s" else "full_attention" for kind in pattern],
    }
    shape = _gqa(heads, kv_heads, head_dim)
    attention = {
        "kind": "sliding",
        "full": shape,
        "sliding": shape,
        # The model's class counts the token itself, and hands the engine the tokens before it.
        "window": config["sliding_window"],
        "pattern": pattern,
    }
    return Model(config, _spec(config, attention))


def qwen3_next(rng: random.Random) -> Model:
    """Full-attention layers among gated delta nets."""
    interval = rng.choice((2, 3, 4, 6))
    layers = interval * rng.randint(2, 16)
    kv_heads, head_dim = rng.choice((1, 2, 4, 8)), rng.choice((128, 256))
    heads = kv_heads * rng.choice((4, 8))
    key_heads = rng.choice((8, 16, 32))
    state = {
        "value_heads": key_heads * rng.choice((1, 2, 4)),
        "key_heads": key_heads,
        "value_head_dim": rng.choice((64, 128)),
        "key_head_dim": rng.choice((64, 128)),
        "conv_kernel": rng.choice((2, 4)),
        "dtype": rng.choice(("float32", "bfloat16")),
    }
    config = _config(rng, "Qwen3NextForCausalLM", "qwen3_next", heads, head_dim) | {
        "num_hidden_layers": layers,
        "num_key_value_heads": kv_heads,
        "full_attention_interval": interval,
        "linear_num_value_heads": state["value_heads"],
        "linear_num_key_heads": state["key_heads"],
        "linear_value_head_dim": state["value_head_dim"],
        "linear_key_head_dim": state["key_head_dim"],
        "linear_conv_kernel_dim": state["conv_kernel"],
        "mamba_ssm_dtype": state["dtype"],
        "num_experts": 128,
    }
    pattern = "".join("f" if (index + 1) % interval == 0 else "l" for index in range(layers))
    attention = {"kind": "hybrid", "full": _gqa(heads, kv_heads, head_dim), "state": state, "pattern": pattern}
    return Model(config, _spec(config, attention))


def eagle3(rng: random.Random, target: Model) -> Model:
    """A draft of one or two grouped-attention layers beside any target."""
    draft = llama(rng)
    layers = rng.choice((1, 1, 1, 2))
    config = draft.config | {
        "architectures": ["LlamaForCausalLMEagle3"],
        "num_hidden_layers": layers,
        "max_position_embeddings": target.spec["max_position_embeddings"],
    }
    spec = draft.spec | {
        "architecture": "LlamaForCausalLMEagle3",
        "layers": layers,
        "max_position_embeddings": target.spec["max_position_embeddings"],
    }
    return Model(config, spec)


def _config(rng: random.Random, architecture: str, model_type: str, heads: int, head_dim: int) -> dict[str, Any]:
    return {
        "architectures": [architecture],
        "model_type": model_type,
        "hidden_size": heads * head_dim,
        "intermediate_size": 1024,
        "num_attention_heads": heads,
        "head_dim": head_dim,
        "num_hidden_layers": rng.randint(1, 96),
        "vocab_size": 32000,
        "max_position_embeddings": rng.choice(CONTEXTS),
        "torch_dtype": "bfloat16",
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
    }


def _latent_config(rng: random.Random, architecture: str, model_type: str) -> dict[str, Any]:
    heads = rng.choice((16, 32, 64, 128))
    config = _config(rng, architecture, model_type, heads, 64) | {
        "num_key_value_heads": heads,
        "kv_lora_rank": rng.choice((64, 128, 256, 512)),
        "q_lora_rank": 1536,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": rng.choice((16, 32, 64)),
        "v_head_dim": 128,
        "n_routed_experts": 256,
        "num_nextn_predict_layers": rng.choice((0, 1)),
    }
    del config["head_dim"]
    return config


def _pattern(rng: random.Random, often: str, seldom: str) -> str:
    """Layers of two kinds, at least one of each."""
    every = rng.choice((2, 2, 4, 6))
    layers = every * rng.randint(1, 16) + rng.randint(0, every - 1)
    return "".join(seldom if (index + 1) % every == 0 else often for index in range(layers))


def _gqa(heads: int, kv_heads: int, head_dim: int) -> dict[str, Any]:
    return {"kind": "gqa", "heads": heads, "kv_heads": kv_heads, "head_dim": head_dim, "v_head_dim": head_dim}


def _mla(config: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": "mla",
        "heads": config["num_attention_heads"],
        "kv_lora_rank": config["kv_lora_rank"],
        "qk_rope_head_dim": config["qk_rope_head_dim"],
        "index_head_dim": config.get("index_head_dim"),
    }


def _spec(config: dict[str, Any], attention: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "generated",
        "architecture": config["architectures"][0],
        "model_type": config["model_type"],
        "quantization": None,
        "dtype": "bfloat16",
        "kv_cache_dtype": "bfloat16",
        "layers": config["num_hidden_layers"],
        "hidden_size": config["hidden_size"],
        "vocab_size": config["vocab_size"],
        "max_position_embeddings": config["max_position_embeddings"],
        "multimodal": False,
        "experts": None,
        "attention": attention,
        "draft_layers": config.get("num_nextn_predict_layers", 0),
        "weights": {"total_bytes": 0, "files": 0, "source": "profile"},
    }
