# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make tiny random models that the real engine loads and serves on a CPU: `tiny_models.py OUT_DIR [NAME ...]`.

The weights are real safetensors files in several shards with an index, as large models have them, and the same bytes on every
machine: the generator is seeded and only the standard library is used. The names of the tensors are those that SGLang 0.5.9 and
0.5.23 load for `LlamaForCausalLM` and `DeepseekV3ForCausalLM`.
"""

from __future__ import annotations

import json
import random
import shutil
import struct
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

TOKENIZER_DIR = Path(__file__).resolve().parents[1] / "data" / "models" / "tokenizer"
VOCABULARY = 512
SHARDS = 4

Shape = tuple[int, ...]
Tensor = tuple[str, Shape, str]  # name, shape, dtype as safetensors spells it

COMMON: dict[str, Any] = {
    "attention_bias": False,
    "bos_token_id": 0,
    "eos_token_id": 4,
    "hidden_act": "silu",
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": VOCABULARY,
}

CONFIGS: dict[str, dict[str, Any]] = {
    # Grouped-query attention: 2 KV heads x 16 x 2 (K and V) x 2 layers x 2 bytes = 256 bytes a token at tp 1.
    "tiny-llama": {
        **COMMON,
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
    },
    # Latent attention: (64 + 16) x 3 layers x 2 bytes = 480 bytes a token on every rank.
    "tiny-deepseek": {
        **COMMON,
        "architectures": ["DeepseekV3ForCausalLM"],
        "model_type": "deepseek_v3",
        "hidden_size": 128,
        "intermediate_size": 256,
        "moe_intermediate_size": 64,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "kv_lora_rank": 64,
        "q_lora_rank": 64,
        "qk_rope_head_dim": 16,
        "qk_nope_head_dim": 32,
        "v_head_dim": 32,
        "n_routed_experts": 8,
        "n_shared_experts": 1,
        "num_experts_per_tok": 2,
        "first_k_dense_replace": 1,
        "n_group": 1,
        "topk_group": 1,
        "scoring_func": "sigmoid",
        "topk_method": "noaux_tc",
        "routed_scaling_factor": 1.0,
        "norm_topk_prob": True,
        "moe_layer_freq": 1,
        "num_nextn_predict_layers": 0,
        # SGLang's CPU path has no plain rotary embedding for this architecture.
        "rope_scaling": {
            "type": "yarn",
            "factor": 1.0,
            "original_max_position_embeddings": 2048,
            "beta_fast": 32,
            "beta_slow": 1,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
        },
    },
}


def make(name: str, out: Path) -> Path:
    """Write the model `name` below `out` and return its directory; an existing one is replaced."""
    config = CONFIGS[name]
    target = out / name
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for source in sorted(TOKENIZER_DIR.iterdir()):
        if source.name != "PROVENANCE.md":
            shutil.copyfile(source, target / source.name)
    _write_json(target / "config.json", config)
    _write_json(target / "generation_config.json", {"bos_token_id": 0, "eos_token_id": 4})
    _write_shards(target, list(_tensors(config)), random.Random(name))
    return target


def _tensors(config: dict[str, Any]) -> Iterator[Tensor]:
    hidden = config["hidden_size"]
    yield "model.embed_tokens.weight", (config["vocab_size"], hidden), "BF16"
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}"
        yield f"{prefix}.input_layernorm.weight", (hidden,), "BF16"
        yield f"{prefix}.post_attention_layernorm.weight", (hidden,), "BF16"
        attention = _latent_attention if "kv_lora_rank" in config else _grouped_attention
        yield from attention(f"{prefix}.self_attn", config)
        if "n_routed_experts" in config and layer >= config["first_k_dense_replace"]:
            yield from _experts(f"{prefix}.mlp", config)
        else:
            yield from _feed_forward(f"{prefix}.mlp", hidden, config["intermediate_size"])
    yield "model.norm.weight", (hidden,), "BF16"
    yield "lm_head.weight", (config["vocab_size"], hidden), "BF16"


def _grouped_attention(prefix: str, config: dict[str, Any]) -> Iterator[Tensor]:
    hidden, head = config["hidden_size"], config["head_dim"]
    queries, keys = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    yield f"{prefix}.q_proj.weight", (queries, hidden), "BF16"
    yield f"{prefix}.k_proj.weight", (keys, hidden), "BF16"
    yield f"{prefix}.v_proj.weight", (keys, hidden), "BF16"
    yield f"{prefix}.o_proj.weight", (hidden, queries), "BF16"


def _latent_attention(prefix: str, config: dict[str, Any]) -> Iterator[Tensor]:
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    latent, rope, nope = config["kv_lora_rank"], config["qk_rope_head_dim"], config["qk_nope_head_dim"]
    yield f"{prefix}.q_a_proj.weight", (config["q_lora_rank"], hidden), "BF16"
    yield f"{prefix}.q_a_layernorm.weight", (config["q_lora_rank"],), "BF16"
    yield f"{prefix}.q_b_proj.weight", (heads * (nope + rope), config["q_lora_rank"]), "BF16"
    yield f"{prefix}.kv_a_proj_with_mqa.weight", (latent + rope, hidden), "BF16"
    yield f"{prefix}.kv_a_layernorm.weight", (latent,), "BF16"
    yield f"{prefix}.kv_b_proj.weight", (heads * (nope + config["v_head_dim"]), latent), "BF16"
    yield f"{prefix}.o_proj.weight", (hidden, heads * config["v_head_dim"]), "BF16"


def _feed_forward(prefix: str, hidden: int, width: int) -> Iterator[Tensor]:
    yield f"{prefix}.gate_proj.weight", (width, hidden), "BF16"
    yield f"{prefix}.up_proj.weight", (width, hidden), "BF16"
    yield f"{prefix}.down_proj.weight", (hidden, width), "BF16"


def _experts(prefix: str, config: dict[str, Any]) -> Iterator[Tensor]:
    hidden, width = config["hidden_size"], config["moe_intermediate_size"]
    yield f"{prefix}.gate.weight", (config["n_routed_experts"], hidden), "BF16"
    yield f"{prefix}.gate.e_score_correction_bias", (config["n_routed_experts"],), "F32"
    for expert in range(config["n_routed_experts"]):
        yield from _feed_forward(f"{prefix}.experts.{expert}", hidden, width)
    yield from _feed_forward(f"{prefix}.shared_experts", hidden, width * config["n_shared_experts"])


def _write_shards(target: Path, tensors: Sequence[Tensor], source: random.Random) -> None:
    weight_map: dict[str, str] = {}
    total = 0
    for number in range(SHARDS):
        name = f"model-{number + 1:05d}-of-{SHARDS:05d}.safetensors"
        part = tensors[number::SHARDS]
        total += _write_safetensors(target / name, part, source)
        weight_map.update({tensor: name for tensor, _shape, _dtype in part})
    _write_json(target / "model.safetensors.index.json", {"metadata": {"total_size": total}, "weight_map": weight_map})


def _write_safetensors(path: Path, tensors: Sequence[Tensor], source: random.Random) -> int:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    bodies: list[bytes] = []
    offset = 0
    for name, shape, dtype in tensors:
        body = _values(name, shape, dtype, source)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset + len(body)]}
        bodies.append(body)
        offset += len(body)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(bodies))
    return offset


def _values(name: str, shape: Shape, dtype: str, source: random.Random) -> bytes:
    count = 1
    for size in shape:
        count *= size
    if name.endswith("layernorm.weight") or name == "model.norm.weight":
        numbers = [1.0] * count
    else:
        numbers = [source.uniform(-0.08, 0.08) for _index in range(count)]
    exact = struct.pack(f"<{count}f", *numbers)
    if dtype == "F32":
        return exact
    # bfloat16 is the upper half of a float32.
    return b"".join(exact[at + 2 : at + 4] for at in range(0, len(exact), 4))


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    if not arguments:
        print(f"usage: tiny_models.py OUT_DIR [{' | '.join(CONFIGS)} ...]", file=sys.stderr)
        return 2
    for name in arguments[1:] or list(CONFIGS):
        print(make(name, Path(arguments[0])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
