# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The geometry of public checkpoints, one of each family, and the bytes that public start-up logs confirm."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import ModelError
from ansible_collections.blackwell.inference.plugins.module_utils.core.fields import Fields
from ansible_collections.blackwell.inference.plugins.module_utils.model.attention import (
    GqaGeometry,
    HybridGeometry,
    MlaGeometry,
    OtherAttention,
    SlidingGeometry,
    StateGeometry,
)
from ansible_collections.blackwell.inference.plugins.module_utils.model.config import model_from_config
from ansible_collections.blackwell.inference.plugins.module_utils.model.families import attention_of
from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import ModelSpec, Weights, model_from_dict
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.token_cost import stored_bytes

MODELS = Path(__file__).parents[2] / "data" / "models"
NAMES = sorted(path.parent.name for path in MODELS.glob("*/config.json"))


def published(name: str) -> ModelSpec:
    folder = MODELS / name
    quant = folder / "hf_quant_config.json"
    config = json.loads((folder / "config.json").read_text())
    return model_from_config(
        name, config, json.loads(quant.read_text()) if quant.exists() else None, Weights(1, 1, "x"), "a", name
    )


GDN = StateGeometry(64, 16, 128, 128, 4)
FAMILIES = {
    "deepseek-v3": (61, MlaGeometry(512, 64, 128), 1),
    "deepseek-v3.2": (61, MlaGeometry(512, 64, 128, 128), 1),
    "glm-5-nvfp4": (78, MlaGeometry(512, 64, 64, 128), 1),
    "glm-5.2": (78, MlaGeometry(512, 64, 64, 128, index_pattern="kk" + "krrr" * 19), 1),
    "kimi-k2.5": (61, MlaGeometry(512, 64, 64), 0),
    "kimi-k2.5-eagle3-mla": (1, MlaGeometry(512, 64, 64), 0),
    "kimi-k2.6-nvfp4": (61, MlaGeometry(512, 64, 64), 0),
    "kimi-k25-eagle3": (1, GqaGeometry(64, 64, 128, 128), 0),
    "kimi-k3": (93, HybridGeometry(MlaGeometry(512, 64, 96), StateGeometry(96, 96, 128, 128, 4), "lllf" * 23 + "f"), 0),
    "gemma-4-26b-a4b": (
        30,
        SlidingGeometry(GqaGeometry(16, 2, 512, 512), GqaGeometry(16, 8, 256, 256), 1024, "sssssf" * 5),
        0,
    ),
    "gpt-oss-120b": (36, SlidingGeometry(GqaGeometry(64, 8, 64, 64), GqaGeometry(64, 8, 64, 64), 128, "sf" * 18), 0),
    "llama-3.1-8b": (32, GqaGeometry(32, 8, 128, 128), 0),
    "llama-4-scout": (
        48,
        SlidingGeometry(GqaGeometry(40, 8, 128, 128), GqaGeometry(40, 8, 128, 128), 8192, "sssf" * 12),
        0,
    ),
    "mimo-v2-flash": (
        48,
        SlidingGeometry(GqaGeometry(64, 4, 192, 128), GqaGeometry(64, 8, 192, 128), 128, "fssss" + "fsssss" * 7 + "f"),
        0,
    ),
    "minimax-m2.5": (62, GqaGeometry(48, 8, 128, 128), 0),
    "qwen3-235b-a22b": (94, GqaGeometry(64, 4, 128, 128), 0),
    "qwen3.5-397b-a17b-nvfp4": (60, HybridGeometry(GqaGeometry(32, 2, 256, 256), GDN, "lllf" * 15), 1),
    "step-3.7-flash": (
        45,
        SlidingGeometry(GqaGeometry(64, 8, 128, 128), GqaGeometry(64, 8, 128, 128), 512, ("fsss" * 12)[:45]),
        3,
    ),
    "deepseek-v4-flash": (43, OtherAttention("compressed attention with a pool for each ratio", 64), 1),
    "minimax-m3": (60, OtherAttention("block-sparse attention with an indexer of its own", 64), 1),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_geometry(name):
    model = published(name)
    assert (model.layers, model.attention, model.draft_layers) == FAMILIES[name]


@pytest.mark.parametrize(
    ("name", "kinds", "state"),
    [
        ("nemotron-3-super-120b", {"f": 8, "l": 40, "n": 40}, StateGeometry(128, 8, 64, 128, 4)),
        ("nemotron-3-ultra-550b", {"f": 12, "l": 48, "n": 48}, StateGeometry(256, 8, 64, 128, 4)),
    ],
)
def test_layers_of_nemotron(name, kinds, state):
    attention = published(name).attention
    assert isinstance(attention, HybridGeometry)
    assert {letter: attention.pattern.count(letter) for letter in "fln"} == kinds
    assert attention.state == state


@pytest.mark.parametrize("name", NAMES)
def test_each_is_what_it_was_written_as(name):
    model = published(name)
    assert model_from_dict(json.loads(json.dumps(model.as_dict()))) == model


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("glm-5-nvfp4", ("modelopt_fp4", "fp8_e4m3", 202_752)),
        ("kimi-k2.6-nvfp4", ("modelopt_fp4", "fp8_e4m3", 262_144)),
        ("qwen3.5-397b-a17b-nvfp4", ("modelopt_fp4", "fp8_e4m3", 262_144)),
        ("deepseek-v3.2", ("fp8", "bfloat16", 163_840)),
        ("gpt-oss-120b", ("mxfp4", "bfloat16", 131_072)),
        ("kimi-k2.5", ("compressed-tensors int4", "bfloat16", 262_144)),
    ],
)
def test_quantisation_and_context(name, expected):
    model = published(name)
    assert (model.quantization, model.kv_cache_dtype, model.max_position_embeddings) == expected


@pytest.mark.parametrize(
    ("name", "kind", "layers", "tp", "per_token"),
    [
        pytest.param("kimi-k2.5", "full", 61, 8, 70_272, id="17.99 GiB for 274,934 tokens of 61 latent layers"),
        pytest.param("llama-3.1-8b", "full", 32, 1, 131_072, id="Llama 3.1 8B on one card"),
        pytest.param("qwen3-235b-a22b", "full", 94, 16, 48_128, id="19.8 GiB for 441,600 tokens, tp 16"),
        pytest.param("gemma-4-26b-a4b", "full", 5, 2, 10_240, id="5.06 GiB for 530,280 tokens of the full layers"),
        pytest.param("gemma-4-26b-a4b", "sliding", 25, 2, 102_400, id="5.06 GiB for 53,028 sliding tokens"),
        pytest.param("mimo-v2-flash", "sliding", 39, 4, 49_920, id="8.38 + 5.59 GiB for 300,288 sliding tokens"),
    ],
)
def test_bytes_of_a_token_as_public_logs_have_them(name, kind, layers, tp, per_token):
    attention = published(name).attention
    geometry = getattr(attention, kind, attention)
    assert stored_bytes(geometry, layers, tp, "bfloat16") == per_token


def geometry_of(architecture: str, layers: int = 4, **keys: object):
    base = {"num_attention_heads": 8, "num_key_value_heads": 2, "hidden_size": 512}
    return attention_of(Fields({**base, **keys}, "config.json", "advice", ModelError), architecture, layers)


PLAIN = GqaGeometry(8, 2, 64, 64)
LINEAR = {
    "linear_num_value_heads": 4,
    "linear_num_key_heads": 2,
    "linear_value_head_dim": 16,
    "linear_key_head_dim": 8,
    "linear_conv_kernel_dim": 4,
}
STATE = StateGeometry(4, 2, 16, 8, 4)


@pytest.mark.parametrize(
    ("architecture", "keys", "expected"),
    [
        pytest.param(
            "Qwen3NextForCausalLM",
            LINEAR,
            HybridGeometry(PLAIN, STATE, "lllf"),
            id="every fourth layer unless it says so",
        ),
        pytest.param(
            "Qwen3NextForCausalLM",
            {**LINEAR, "full_attention_interval": 2, "layer_types": ["full_attention"] * 4},
            HybridGeometry(PLAIN, STATE, "lflf"),
            id="the interval beats the list",
        ),
        pytest.param(
            "Qwen3NextForCausalLM",
            {**LINEAR, "layer_types": ["linear_attention", "full_attention"] * 2, "mamba_ssm_dtype": "bfloat16"},
            HybridGeometry(PLAIN, replace(STATE, dtype="bfloat16"), "lflf"),
            id="the list alone, and a state of two bytes",
        ),
        pytest.param(
            "Qwen3NextForCausalLM",
            {**LINEAR, "mamba_ssm_dtype": "int8"},
            HybridGeometry(PLAIN, STATE, "lllf"),
            id="a dtype that the engine does not know is float32",
        ),
        pytest.param(
            "KimiLinearForCausalLM",
            {
                "kv_lora_rank": 512,
                "qk_rope_head_dim": 64,
                "linear_attn_config": {
                    "kda_layers": [1, 2, 3],
                    "num_heads": 8,
                    "head_dim": 16,
                    "short_conv_kernel_size": 4,
                },
            },
            HybridGeometry(MlaGeometry(512, 64, 8), StateGeometry(8, 8, 16, 16, 4), "lllf"),
            id="Kimi Linear counts from one",
        ),
        pytest.param(
            "GraniteMoeHybridForCausalLM",
            {
                "layer_types": ["mamba", "mamba", "attention", "mamba"],
                "mamba_n_heads": 4,
                "mamba_n_groups": 1,
                "mamba_d_head": 16,
                "mamba_d_state": 8,
                "mamba_d_conv": 4,
            },
            HybridGeometry(PLAIN, StateGeometry(4, 1, 16, 8, 4), "llfl"),
            id="Granite 4",
        ),
        pytest.param(
            "Step3p5ForCausalLM",
            {
                "layer_types": ["full_attention", "sliding_attention"] * 3,
                "sliding_window": 512,
                "attention_other_setting": {"num_attention_groups": 4},
            },
            SlidingGeometry(PLAIN, GqaGeometry(8, 4, 64, 64), 512, "fsfs"),
            id="Step 3.5: groups of its own, and MTP layers behind the list",
        ),
        pytest.param(
            "Gemma4ForCausalLM",
            {"layer_types": ["sliding_attention", "full_attention"] * 2, "sliding_window": 512, "global_head_dim": 128},
            SlidingGeometry(GqaGeometry(8, 2, 128, 128), PLAIN, 512, "sfsf"),
            id="Gemma 4 with keys and values apart",
        ),
        pytest.param("Gemma3ForCausalLM", {"sliding_window": 512}, PLAIN, id="a window without a list of layers"),
        pytest.param(
            "FalconH1ForCausalLM", {}, OtherAttention("layers that attend and keep a state at once", 8), id="Falcon-H1"
        ),
        pytest.param("JambaForCausalLM", {"attn_layer_period": 8}, OtherAttention("Mamba 1 layers", 8), id="Jamba"),
        pytest.param(
            "DeciLMForCausalLM",
            {"block_configs": [{"attention": {"no_op": True}}]},
            OtherAttention("layers that differ one from another", 8),
            id="a pruned Llama",
        ),
        pytest.param(
            "Lfm2ForCausalLM", {"conv_L_cache": 3}, OtherAttention("short convolutions without a state", 8), id="LFM2"
        ),
        pytest.param(
            "SomeForCausalLM",
            {"linear_attn_config": {"x": 1}},
            OtherAttention("layers that keep a state whose size is not known here", 8),
            id="linear attention of a stranger",
        ),
    ],
)
def test_what_the_engine_makes_of_the_keys(architecture, keys, expected):
    assert geometry_of(architecture, **keys) == expected


@pytest.mark.parametrize(
    ("architecture", "keys", "problem"),
    [
        (
            "GptOssForCausalLM",
            {"layer_types": ["sliding_attention"], "sliding_window": 128},
            "config.json: layer_types has 1 entries for 4 layers; expected one a layer: advice.",
        ),
        (
            "GptOssForCausalLM",
            {"layer_types": ["sliding_attention"] * 4},
            "config.json: sliding_window_size is missing; expected a whole number from 1 to 1,000,000,000: advice.",
        ),
        (
            "MiMoV2FlashForCausalLM",
            {"hybrid_layer_pattern": [0, 1, 2, 0], "sliding_window": 128},
            "config.json: hybrid_layer_pattern names 2; expected one of 0, 1: advice.",
        ),
        (
            "NemotronHForCausalLM",
            {
                "hybrid_override_pattern": "M*X-",
                "mamba_num_heads": 1,
                "n_groups": 1,
                "mamba_head_dim": 1,
                "ssm_state_size": 1,
                "conv_kernel": 4,
            },
            "config.json: hybrid_override_pattern names the text 'X'; expected one of *, M, -, E: advice.",
        ),
        (
            "KimiLinearForCausalLM",
            {"linear_attn_config": {"num_heads": 1, "head_dim": 1, "kda_layers": "all"}},
            "linear_attn_config in config.json: kda_layers is the text 'all'; expected a list of layer numbers: advice.",
        ),
        (
            "DeepseekV32ForCausalLM",
            {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "index_topk": 2048},
            "config.json: index_head_dim is missing; expected a whole number from 1 to 65,536: advice.",
        ),
    ],
)
def test_refusals(architecture, keys, problem):
    with pytest.raises(ModelError) as refused:
        geometry_of(architecture, **keys)
    assert str(refused.value) == problem


def test_a_pattern_of_another_length_is_refused():
    data = published("gpt-oss-120b").as_dict()
    data["attention"]["pattern"] = "sf"
    with pytest.raises(ModelError, match=r"attention\.pattern has 2 letters for 36 layers; expected one a layer"):
        model_from_dict(data)
