# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What config.json says, and what is made of one that says nonsense."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import ModelError
from ansible_collections.blackwell.inference.plugins.module_utils.model.attention import (
    GqaGeometry,
    MlaGeometry,
    OtherAttention,
    SlidingGeometry,
)
from ansible_collections.blackwell.inference.plugins.module_utils.model.config import model_from_config, quantization_of
from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import ModelSpec, Weights

WEIGHTS = Weights(10**12, 3, "safetensors")
PLAIN = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 512,
    "max_position_embeddings": 2048,
}


def read(config, quant_config=None) -> ModelSpec:
    return model_from_config("m", config, quant_config, WEIGHTS, "abc", "/srv/models/m")


def test_kimi_keeps_its_figures_in_text_config(configs):
    model = read(configs["Kimi-K2.5"])
    assert (model.architecture, model.model_type, model.layers, model.experts) == (
        "KimiK25ForConditionalGeneration",
        "kimi_k25",
        61,
        384,
    )
    assert model.attention == MlaGeometry(512, 64, 64)
    assert (model.quantization, model.kv_cache_dtype, model.multimodal) == ("compressed-tensors int4", "bfloat16", True)
    assert model.max_position_embeddings == 262144  # the yarn factor is in it already
    assert model.sources["layers"] == "config.json text_config"


def test_qwen3_names_its_head_dim(configs):
    model = read(configs["Qwen3-235B-A22B"])
    assert model.attention == GqaGeometry(64, 4, 128, 128)  # hidden_size / heads would be 64
    assert (model.experts, model.multimodal, model.quantization, model.max_position_embeddings) == (
        128,
        False,
        None,
        40960,
    )


def test_llama_divides_its_width_by_its_heads(configs):
    model = read(configs["Llama-3.1-8B"])
    assert model.attention == GqaGeometry(32, 8, 128, 128)
    assert (model.experts, model.max_position_embeddings) == (None, 131072)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, GqaGeometry(4, 2, 16, 16)),
        ({"num_key_value_heads": None}, GqaGeometry(4, 4, 16, 16)),
        ({"head_dim": 192, "v_head_dim": 128}, GqaGeometry(4, 2, 192, 128)),
        ({"layer_types": ["full_attention", "full_attention"]}, GqaGeometry(4, 2, 16, 16)),
        ({"multi_query": True, "num_key_value_heads": None}, GqaGeometry(4, 1, 16, 16)),
        ({"num_kv_heads": 1}, GqaGeometry(4, 1, 16, 16)),
        (
            {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": 8},
            SlidingGeometry(GqaGeometry(4, 2, 16, 16), GqaGeometry(4, 2, 16, 16), 8, "sf"),
        ),
        ({"layer_types": ["conv", "full_attention"]}, OtherAttention("layers of the kind conv", 4)),
        (
            {"kv_lora_rank": 512, "qk_rope_head_dim": 64},
            OtherAttention("latent attention that the engine holds in a way not known here", 4),
        ),
        ({"mamba_d_state": 128}, OtherAttention("layers that keep a state whose size is not known here", 4)),
        ({"compress_ratios": [4, 128]}, OtherAttention("compressed attention with a pool for each ratio", 4)),
        ({"loop_num": 2}, OtherAttention("layers that are passed more than once", 4)),
    ],
)
def test_attention(more, expected):
    assert read({**PLAIN, **more}).attention == expected


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param({}, 2048, id="as declared"),
        pytest.param({"rope_scaling": {"type": "linear", "factor": 4.0}}, 8192, id="a factor that is not in it"),
        pytest.param(
            {"rope_scaling": {"factor": 4.0, "original_max_position_embeddings": 512}},
            2048,
            id="a factor that is in it",
        ),
        pytest.param({"rope_scaling": {"factor": 8.0, "rope_type": "llama3"}}, 2048, id="llama3"),
        pytest.param({"rope_scaling": {"factor": 1e308}}, 1_000_000_000, id="an absurd factor"),
        pytest.param({"rope_scaling": {"factor": "4"}}, 2048, id="a factor that is a text"),
        pytest.param({"rope_scaling": {"mrope_section": [1]}}, 2048, id="no factor"),
        pytest.param({"max_sequence_length": 4096}, 4096, id="the engine's first key wins"),
        pytest.param({"model_max_length": 1024}, 1024, id="also when it is smaller"),
    ],
)
def test_longest_context(more, expected):
    assert read({**PLAIN, **more}).max_position_embeddings == expected


@pytest.mark.parametrize(
    ("config", "quant_config", "expected"),
    [
        ({}, None, (None, None)),
        ({"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}, None, ("fp8", None)),
        ({"quantization_config": {"quant_method": "awq", "bits": 4}}, None, ("awq", None)),
        ({}, {"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}}, ("modelopt_fp4", "fp8_e4m3")),
        ({}, {"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": None}}, ("modelopt_fp4", None)),
        ({}, {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}, ("modelopt_fp8", "fp8_e4m3")),
        (
            {
                "quantization_config": {
                    "quant_method": "modelopt",
                    "quant_algo": "NVFP4",
                    "kv_cache_scheme": {"type": "float", "num_bits": 8},
                }
            },
            None,
            ("modelopt_fp4", "fp8_e4m3"),
        ),
        (
            {
                "quantization_config": {
                    "quant_method": "compressed-tensors",
                    "kv_cache_scheme": {"type": "float", "num_bits": 8},
                }
            },
            None,
            ("compressed-tensors", None),
        ),
        ({"quantization_config": {"quant_method": 4}}, None, (None, None)),
        ({"quantization_config": [1]}, {"quantization": "x"}, (None, None)),
    ],
)
def test_quantization_and_the_kv_dtype_it_implies(config, quant_config, expected):
    assert quantization_of(config, config, quant_config) == expected


def test_fp8_kv_reaches_the_model():
    quant_config = {"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}}
    model = read({**PLAIN, "torch_dtype": "bfloat16"}, quant_config)
    assert (model.quantization, model.kv_cache_dtype, model.sources["kv_cache_dtype"]) == (
        "modelopt_fp4",
        "fp8_e4m3",
        "hf_quant_config.json",
    )


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [("torch_dtype", "float32", "float16"), ("dtype", "float16", "float16"), ("x", 1, "bfloat16")],
)
def test_dtype(key, value, expected):
    model = read({**PLAIN, key: value})
    assert (model.dtype, model.kv_cache_dtype) == (expected, expected)


WHERE = "config.json of /srv/models/m"
ADVICE = "download it again, or choose a model that SGLang knows"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"num_hidden_layers": None},
            f"{WHERE}: num_hidden_layers is nothing; expected a whole number from 1 to 10,000: {ADVICE}.",
        ),
        (
            {"num_hidden_layers": "2"},
            f"{WHERE}: num_hidden_layers is the text '2'; expected a whole number from 1 to 10,000: {ADVICE}.",
        ),
        (
            {"num_hidden_layers": 10**9},
            f"{WHERE}: num_hidden_layers is 1000000000; expected a whole number from 1 to 10,000: {ADVICE}.",
        ),
        (
            {"num_attention_heads": 0},
            f"{WHERE}: num_attention_heads is 0; expected a whole number from 1 to 65,536: {ADVICE}.",
        ),
        ({"architectures": []}, f"{WHERE}: architectures is nothing; expected a text: {ADVICE}."),
        ({"architectures": [7]}, f"{WHERE}: architectures is nothing; expected a text: {ADVICE}."),
        ({"text_config": [1]}, f"text_config in {WHERE} is a list; expected a dictionary: {ADVICE}."),
        (
            {"torch_dtype": "int3"},
            f"{WHERE}: torch_dtype is the text 'int3'; expected one of bfloat16, float16, float32: {ADVICE}.",
        ),
        (
            {"kv_lora_rank": 512, "architectures": ["DeepseekV3ForCausalLM"]},
            f"{WHERE}: qk_rope_head_dim is missing; expected a whole number from 1 to 65,536: {ADVICE}.",
        ),
    ],
)
def test_refusals(more, message):
    with pytest.raises(ModelError) as refused:
        read({**PLAIN, **more})
    assert str(refused.value) == message


@pytest.mark.parametrize("key", sorted(set(PLAIN) - {"num_key_value_heads"}))
def test_each_needed_field_is_missed_by_name(key):
    with pytest.raises(ModelError, match=key):
        read({name: value for name, value in PLAIN.items() if name != key})


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


@given(st.data())
@settings(max_examples=300)
def test_no_nonsense_ends_in_a_traceback(configs, data):
    """Any value anywhere: a model, or a sentence."""
    config = copy.deepcopy(configs[data.draw(st.sampled_from(sorted(configs)))])
    place = config["text_config"] if "text_config" in config and data.draw(st.booleans()) else config
    key = data.draw(
        st.sampled_from(sorted(place))
        | st.sampled_from(["quantization_config", "rope_scaling", "layer_types", "head_dim", "v_head_dim"])
    )
    place[key] = data.draw(JUNK)
    quant_config = data.draw(st.none() | st.dictionaries(st.just("quantization"), JUNK, max_size=1))
    sentence, model = "", None
    try:
        model = read(config, quant_config)
    except ModelError as refused:
        sentence = str(refused)
    assert sentence.endswith(f"{ADVICE}.") or (model is not None and model.layers > 0 and model.attention.heads > 0)
