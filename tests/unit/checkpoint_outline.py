# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tensors of public checkpoints, by name, dtype and size, as their config.json makes them: real headers without a download.

The sums are checked against the published total_size of each checkpoint's index where that is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Row = tuple[str, str, int]
_BYTES = {"BF16": 2, "F32": 4, "F8_E4M3": 1, "U8": 1, "I32": 4, "I64": 8}


def _row(name: str, *shape: int, dtype: str = "BF16") -> Row:
    size = _BYTES[dtype]
    for width in shape:
        size *= width
    return name, dtype, size


def _int4(name: str, rows: int, columns: int) -> Iterator[Row]:
    """compressed-tensors, 4 bits, groups of 32: packed words, a scale for each group, the shape."""
    yield _row(f"{name}.weight_packed", rows, columns // 8, dtype="I32")
    yield _row(f"{name}.weight_scale", rows, columns // 32)
    yield _row(f"{name}.weight_shape", 2, dtype="I64")


def _fp8(name: str, rows: int, columns: int) -> Iterator[Row]:
    """Blocks of 128 by 128 with a float32 scale each."""
    yield _row(f"{name}.weight", rows, columns, dtype="F8_E4M3")
    yield _row(f"{name}.weight_scale_inv", -(-rows // 128), -(-columns // 128), dtype="F32")


def _nvfp4(name: str, rows: int, columns: int) -> Iterator[Row]:
    """ModelOpt NVFP4: two elements a byte, a float8 scale for each 16, and two scalars."""
    yield _row(f"{name}.weight", rows, columns // 2, dtype="U8")
    yield _row(f"{name}.weight_scale", rows, columns // 16, dtype="F8_E4M3")
    yield _row(f"{name}.weight_scale_2", 1, dtype="F32")
    yield _row(f"{name}.input_scale", 1, dtype="F32")


def _plain(name: str, rows: int, columns: int) -> Iterator[Row]:
    yield _row(f"{name}.weight", rows, columns)


_KINDS = {"int4": _int4, "fp8": _fp8, "nvfp4": _nvfp4, "bf16": _plain}


def _mlp(name: str, hidden: int, width: int, kind: str) -> Iterator[Row]:
    yield from _KINDS[kind](f"{name}.gate_proj", width, hidden)
    yield from _KINDS[kind](f"{name}.up_proj", width, hidden)
    yield from _KINDS[kind](f"{name}.down_proj", hidden, width)


def _ends(prefix: str, config: dict[str, Any], tied: bool = False) -> Iterator[Row]:
    hidden, vocabulary = config["hidden_size"], config["vocab_size"]
    yield _row(f"{prefix}model.embed_tokens.weight", vocabulary, hidden)
    yield _row(f"{prefix}model.norm.weight", hidden)
    if not tied:
        yield _row(f"{prefix}lm_head.weight", vocabulary, hidden)


def dense_rows(config: dict[str, Any], qk_norm: bool = False, kind: str = "bf16") -> Iterator[Row]:
    """Llama, Qwen3: grouped-query attention and one MLP a layer."""
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    head_dim = config.get("head_dim") or hidden // heads
    yield from _ends("", config, config.get("tie_word_embeddings", False))
    for layer in range(config["num_hidden_layers"]):
        name = f"model.layers.{layer}"
        yield from _grouped(f"{name}.self_attn", config, head_dim, qk_norm, kind)
        yield from _mlp(f"{name}.mlp", hidden, config["intermediate_size"], kind)
        yield _row(f"{name}.input_layernorm.weight", hidden)
        yield _row(f"{name}.post_attention_layernorm.weight", hidden)


def _grouped(name: str, config: dict[str, Any], head_dim: int, qk_norm: bool, kind: str) -> Iterator[Row]:
    hidden, heads, kv_heads = (config[key] for key in ("hidden_size", "num_attention_heads", "num_key_value_heads"))
    yield from _KINDS[kind](f"{name}.q_proj", heads * head_dim, hidden)
    yield from _KINDS[kind](f"{name}.k_proj", kv_heads * head_dim, hidden)
    yield from _KINDS[kind](f"{name}.v_proj", kv_heads * head_dim, hidden)
    yield from _KINDS[kind](f"{name}.o_proj", hidden, heads * head_dim)
    if qk_norm:
        yield _row(f"{name}.q_norm.weight", head_dim)
        yield _row(f"{name}.k_norm.weight", head_dim)


def qwen3_moe_rows(config: dict[str, Any], kind: str = "bf16") -> Iterator[Row]:
    hidden = config["hidden_size"]
    yield from _ends("", config)
    for layer in range(config["num_hidden_layers"]):
        name = f"model.layers.{layer}"
        yield from _grouped(f"{name}.self_attn", config, config["head_dim"], True, "bf16" if kind == "nvfp4" else kind)
        yield _row(f"{name}.mlp.gate.weight", config["num_experts"], hidden)
        for expert in range(config["num_experts"]):
            yield from _mlp(f"{name}.mlp.experts.{expert}", hidden, config["moe_intermediate_size"], kind)
        yield _row(f"{name}.input_layernorm.weight", hidden)
        yield _row(f"{name}.post_attention_layernorm.weight", hidden)


def minimax_m2_rows(config: dict[str, Any]) -> Iterator[Row]:
    """MiniMax-M2 in FP8: head and routers in float32 and bfloat16."""
    hidden = config["hidden_size"]
    yield from _ends("", config)
    for layer in range(config["num_hidden_layers"]):
        name = f"model.layers.{layer}"
        yield from _grouped(f"{name}.self_attn", config, config["head_dim"], False, "fp8")
        yield _row(f"{name}.self_attn.q_norm.weight", config["num_attention_heads"] * config["head_dim"])
        yield _row(f"{name}.self_attn.k_norm.weight", config["num_key_value_heads"] * config["head_dim"])
        yield _row(f"{name}.block_sparse_moe.gate.weight", config["num_local_experts"], hidden, dtype="F32")
        yield _row(f"{name}.block_sparse_moe.e_score_correction_bias", config["num_local_experts"], dtype="F32")
        for expert in range(config["num_local_experts"]):
            for matrix, rows, columns in (("w1", 1, 0), ("w3", 1, 0), ("w2", 0, 1)):
                sizes = (hidden, config["intermediate_size"])
                yield from _fp8(f"{name}.block_sparse_moe.experts.{expert}.{matrix}", sizes[rows], sizes[columns])
        yield _row(f"{name}.input_layernorm.weight", hidden)
        yield _row(f"{name}.post_attention_layernorm.weight", hidden)


def _latent(name: str, config: dict[str, Any], kind: str) -> Iterator[Row]:
    hidden, heads, rank, rope = (
        config[key] for key in ("hidden_size", "num_attention_heads", "kv_lora_rank", "qk_rope_head_dim")
    )
    nope, value, query = config["qk_nope_head_dim"], config["v_head_dim"], config["q_lora_rank"]
    make = _KINDS[kind]
    yield from make(f"{name}.q_a_proj", query, hidden)
    yield _row(f"{name}.q_a_layernorm.weight", query)
    yield from make(f"{name}.q_b_proj", heads * (nope + rope), query)
    yield from make(f"{name}.kv_a_proj_with_mqa", rank + rope, hidden)
    yield _row(f"{name}.kv_a_layernorm.weight", rank)
    yield from make(f"{name}.kv_b_proj", heads * (nope + value), rank)
    yield from make(f"{name}.o_proj", hidden, heads * value)
    if config.get("index_topk"):
        index_heads, index_dim = config["index_n_heads"], config["index_head_dim"]
        yield from make(f"{name}.indexer.wq_b", index_heads * index_dim, query)
        yield from make(f"{name}.indexer.wk", index_dim, hidden)
        yield _row(f"{name}.indexer.k_norm.weight", index_dim, dtype="F32")
        yield _row(f"{name}.indexer.k_norm.bias", index_dim, dtype="F32")
        yield _row(f"{name}.indexer.weights_proj.weight", index_heads, hidden)


def deepseek_rows(
    config: dict[str, Any],
    experts: str,
    attention: str,
    prefix: str = "",
    mlp: str | None = None,
    mtp: str | None = None,
) -> Iterator[Row]:
    """DeepSeek-V3 and its kin; the MTP layers stand behind the others, with an embedding and a head of their own.

    `experts`, `attention` and `mlp` (dense layers and shared experts, as the attention unless said) are what they are
    quantised with, `mtp` what all of the MTP layers are.
    """
    hidden, layers = config["hidden_size"], config["num_hidden_layers"]
    yield from _ends(prefix, config)
    for layer in range(layers + config.get("num_nextn_predict_layers", 0)):
        name = f"{prefix}model.layers.{layer}"
        kinds = (experts, attention, mlp or attention) if layer < layers or mtp is None else (mtp, mtp, mtp)
        yield from _latent(f"{name}.self_attn", config, kinds[1])
        if layer < config["first_k_dense_replace"]:
            yield from _mlp(f"{name}.mlp", hidden, config["intermediate_size"], kinds[2])
        else:
            yield _row(f"{name}.mlp.gate.weight", config["n_routed_experts"], hidden)
            yield _row(f"{name}.mlp.gate.e_score_correction_bias", config["n_routed_experts"], dtype="F32")
            width = config["moe_intermediate_size"]
            for expert in range(config["n_routed_experts"]):
                yield from _mlp(f"{name}.mlp.experts.{expert}", hidden, width, kinds[0])
            yield from _mlp(f"{name}.mlp.shared_experts", hidden, width * config["n_shared_experts"], kinds[2])
        yield _row(f"{name}.input_layernorm.weight", hidden)
        yield _row(f"{name}.post_attention_layernorm.weight", hidden)
        if layer >= layers:
            yield _row(f"{name}.embed_tokens.weight", config["vocab_size"], hidden)
            yield _row(f"{name}.enorm.weight", hidden)
            yield _row(f"{name}.hnorm.weight", hidden)
            yield _row(f"{name}.eh_proj.weight", hidden, 2 * hidden)
            yield _row(f"{name}.shared_head.norm.weight", hidden)
            yield _row(f"{name}.shared_head.head.weight", config["vocab_size"], hidden)


def glm_5_nvfp4_rows(config: dict[str, Any]) -> Iterator[Row]:
    """nvidia/GLM-5-NVFP4: attention and the MTP layer stay in bfloat16, as its hf_quant_config.json excludes them."""
    yield from deepseek_rows(config, "nvfp4", "bf16", mlp="nvfp4", mtp="bf16")


def qwen3_5_moe_rows(config: dict[str, Any], experts: str = "nvfp4") -> Iterator[Row]:
    """Qwen3.5-397B-A17B: routed experts quantised, all else in bfloat16, one MTP layer in bfloat16."""
    text = config["text_config"]
    yield from _ends("", text)
    for layer in range(text["num_hidden_layers"]):
        full = text["layer_types"][layer] == "full_attention"
        yield from _qwen3_5_layer(f"model.language_model.layers.{layer}", text, full, experts)
    for layer in range(text["mtp_num_hidden_layers"]):
        yield from _qwen3_5_layer(f"mtp.layers.{layer}", text, True, "bf16")
    yield _row("mtp.fc.weight", text["hidden_size"], 2 * text["hidden_size"])
    hidden, width = config["vision_config"]["hidden_size"], config["vision_config"]["intermediate_size"]
    for block in range(config["vision_config"]["depth"]):
        name = f"model.visual.blocks.{block}"
        yield _row(f"{name}.attn.qkv.weight", 3 * hidden, hidden)
        yield _row(f"{name}.attn.proj.weight", hidden, hidden)
        yield _row(f"{name}.mlp.linear_fc1.weight", width, hidden)
        yield _row(f"{name}.mlp.linear_fc2.weight", hidden, width)
    yield _row("model.visual.merger.linear_fc1.weight", 4 * hidden, 4 * hidden)
    yield _row("model.visual.merger.linear_fc2.weight", text["hidden_size"], 4 * hidden)


def _qwen3_5_layer(name: str, text: dict[str, Any], full: bool, experts: str) -> Iterator[Row]:
    hidden = text["hidden_size"]
    if full:
        queries, keys = (text[key] * text["head_dim"] for key in ("num_attention_heads", "num_key_value_heads"))
        yield _row(f"{name}.self_attn.q_proj.weight", 2 * queries, hidden)
        yield _row(f"{name}.self_attn.k_proj.weight", keys, hidden)
        yield _row(f"{name}.self_attn.v_proj.weight", keys, hidden)
        yield _row(f"{name}.self_attn.o_proj.weight", hidden, queries)
    else:
        keys = text["linear_num_key_heads"] * text["linear_key_head_dim"]
        values = text["linear_num_value_heads"] * text["linear_value_head_dim"]
        yield _row(f"{name}.linear_attn.in_proj_qkv.weight", 2 * keys + values, hidden)
        yield _row(f"{name}.linear_attn.in_proj_z.weight", values, hidden)
        yield _row(f"{name}.linear_attn.in_proj_a.weight", text["linear_num_value_heads"], hidden)
        yield _row(f"{name}.linear_attn.in_proj_b.weight", text["linear_num_value_heads"], hidden)
        yield _row(f"{name}.linear_attn.conv1d.weight", 2 * keys + values, 1, text["linear_conv_kernel_dim"])
        yield _row(f"{name}.linear_attn.out_proj.weight", hidden, values)
    yield _row(f"{name}.mlp.gate.weight", text["num_experts"], hidden)
    for expert in range(text["num_experts"]):
        yield from _mlp(f"{name}.mlp.experts.{expert}", hidden, text["moe_intermediate_size"], experts)
    yield from _mlp(f"{name}.mlp.shared_expert", hidden, text["shared_expert_intermediate_size"], "bf16")
    yield _row(f"{name}.mlp.shared_expert_gate.weight", 1, hidden)
    yield _row(f"{name}.input_layernorm.weight", hidden)
    yield _row(f"{name}.post_attention_layernorm.weight", hidden)


def eagle3_llama_rows(config: dict[str, Any]) -> Iterator[Row]:
    """An EAGLE-3 draft of Llama's shape: attention over the embedding beside the hidden state, a head of its own; it takes the target's embedding."""
    hidden, heads = config["hidden_size"], config["num_attention_heads"] * config["head_dim"]
    keys = config["num_key_value_heads"] * config["head_dim"]
    yield _row("fc.weight", hidden, 3 * hidden)
    for matrix, rows in (("q_proj", heads), ("k_proj", keys), ("v_proj", keys)):
        yield _row(f"midlayer.self_attn.{matrix}.weight", rows, 2 * hidden)
    yield _row("midlayer.self_attn.o_proj.weight", hidden, heads)
    yield from _mlp("midlayer.mlp", hidden, config["intermediate_size"], "bf16")
    yield _row("lm_head.weight", config["draft_vocab_size"], hidden)


def kimi_k25_rows(config: dict[str, Any]) -> Iterator[Row]:
    """Kimi-K2.5 and K2.6: routed experts in int4, the rest in bfloat16, and a vision tower of 27 layers."""
    text = config["text_config"]
    yield from deepseek_rows(text, "int4", "bf16", prefix="language_model.")
    hidden, width = 1152, 4304
    for layer in range(27):
        name = f"vision_tower.encoder.blocks.{layer}"
        yield _row(f"{name}.wqkv.weight", 3 * hidden, hidden)
        yield _row(f"{name}.wo.weight", hidden, hidden)
        yield _row(f"{name}.mlp.fc0.weight", width, hidden)
        yield _row(f"{name}.mlp.fc1.weight", hidden, width)
    yield _row("mm_projector.proj.0.weight", 4 * hidden, 4 * hidden)
    yield _row("mm_projector.proj.2.weight", text["hidden_size"], 4 * hidden)


def gpt_oss_rows(config: dict[str, Any]) -> Iterator[Row]:
    """gpt-oss: experts in MXFP4 (a byte for two elements, a scale a byte for each 32), attention with sinks and biases in bfloat16."""
    hidden, heads, kv_heads, head_dim = (
        config[key] for key in ("hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim")
    )
    experts, width = config["num_local_experts"], config["intermediate_size"]
    yield from _ends("", config)
    for layer in range(config["num_hidden_layers"]):
        name = f"model.layers.{layer}"
        for matrix, count in (("q_proj", heads), ("k_proj", kv_heads), ("v_proj", kv_heads)):
            yield _row(f"{name}.self_attn.{matrix}.weight", count * head_dim, hidden)
            yield _row(f"{name}.self_attn.{matrix}.bias", count * head_dim)
        yield _row(f"{name}.self_attn.o_proj.weight", hidden, heads * head_dim)
        yield _row(f"{name}.self_attn.o_proj.bias", hidden)
        yield _row(f"{name}.self_attn.sinks", heads)
        yield _row(f"{name}.mlp.router.weight", experts, hidden)
        yield _row(f"{name}.mlp.router.bias", experts)
        for matrix, rows, columns in (("gate_up_proj", 2 * width, hidden), ("down_proj", hidden, width)):
            yield _row(f"{name}.mlp.experts.{matrix}_blocks", experts, rows, columns // 2, dtype="U8")
            yield _row(f"{name}.mlp.experts.{matrix}_scales", experts, rows, columns // 32, dtype="U8")
            yield _row(f"{name}.mlp.experts.{matrix}_bias", experts, rows)
        yield _row(f"{name}.input_layernorm.weight", hidden)
        yield _row(f"{name}.post_attention_layernorm.weight", hidden)
