# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wishes that are good one by one and end the start together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.model.attention import MlaGeometry
from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import ModelSpec, Weights
from ansible_collections.blackwell.inference.plugins.module_utils.planning.combinations import combination_refusals
from ansible_collections.blackwell.inference.plugins.module_utils.planning.planner import plan_memory
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.flags.table import VERSIONS

SM_120 = {"compute_capability": "12.0"}
SPARSE = ModelSpec(
    name="deepseek-v3.2",
    architecture="DeepseekV32ForCausalLM",
    model_type="deepseek_v32",
    quantization="fp8",
    dtype="bfloat16",
    kv_cache_dtype="bfloat16",
    layers=61,
    hidden_size=7168,
    vocab_size=129280,
    max_position_embeddings=163840,
    multimodal=False,
    experts=256,
    attention=MlaGeometry(512, 64, 128, 128),
    weights=Weights(400_000_000_000, 64, "profile"),
)
TREE = {"speculative_algorithm": "EAGLE", "speculative_eagle_topk": 4, "page_size": 64}
NGRAM = {"speculative_algorithm": "NGRAM", "page_size": 64}
FLASHINFER = {"attention-backend": "flashinfer"}
SWITCH = {"environment": {"SGLANG_ENABLE_PP_SPEC": "1"}}
STAGES = {"tp": 4, "pp": 2, "speculative_algorithm": "EAGLE"}


@pytest.fixture
def messages(request_for):
    return lambda **options: [refusal.message for refusal in combination_refusals(request_for(**options))]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "options",
    [
        {"tp": 4, "pp": 2, "speculative_algorithm": "EAGLE3"},
        {"tp": 4, "pp": 2, "speculative_algorithm": "NGRAM"},
        {"dp": 2, "speculative_algorithm": "NGRAM"},
        {"dp": 2, "speculative_algorithm": "STANDALONE"},
        {"page_size": 64, "chunked_prefill_size": 1000},
        {"page_size": 64, "dp": 8, "chunked_prefill_size": 256},
        {"dp": 8, "chunked_prefill_size": 4},
        {"page_size": 7},
        {"model": SPARSE, "dp": 8, "kv_cache_dtype": "fp8_e5m2"},
        {**NGRAM, "hardware": SM_120},
    ],
    ids=str,
)
def test_what_no_version_starts_with(messages, version, options):
    assert len(messages(version=version, **options)) == 1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "options",
    [
        {"tp": 4, "pp": 2},
        {"speculative_algorithm": "NGRAM"},
        {"dp": 2, "speculative_algorithm": "EAGLE3"},
        {"page_size": 64, "dp": 8},
        {"page_size": 64, "chunked_prefill_size": -1},
        {**NGRAM, "arguments": FLASHINFER},
        {**NGRAM, "arguments": {"speculative-ngram-max-bfs-breadth": 1}, "hardware": SM_120},
        {**TREE, "arguments": FLASHINFER},
        {"model": SPARSE, "dp": 8, "page_size": 7},
        {"model": SPARSE, "dp": 8, "kv_cache_dtype": "bf16"},
        {**TREE, "speculative_eagle_topk": 1, "hardware": SM_120},
        {**TREE, "page_size": 1, "hardware": SM_120},
    ],
    ids=str,
)
def test_what_every_version_starts_with(messages, version, options):
    assert messages(version=version, **options) == []


@pytest.mark.parametrize(
    ("options", "refusing", "starting"),
    [
        ({**STAGES, "replaced": SWITCH}, "0.5.20", "0.5.21"),
        ({"dp": 2, "speculative_algorithm": "DFLASH", "arguments": {"enable-dp-lm-head": True}}, "0.5.22", "0.5.23"),
        ({**TREE, "hardware": SM_120}, "0.5.12", "0.5.13"),
        ({**TREE, "arguments": {"attention-backend": "fa3"}}, "0.5.5", "0.5.6"),
        ({"model": SPARSE}, "0.5.5", "0.5.6"),
    ],
    ids=["drafts in stages", "DFLASH in groups", "trees by triton", "trees by fa3", "sparse attention in one group"],
)
def test_what_starts_since_a_version(messages, options, refusing, starting):
    assert len(messages(version=refusing, **options)) == 1
    assert messages(version=starting, **options) == []


def test_the_switch_is_for_chains_without_groups(messages):
    for options in ({**STAGES, "dp": 2}, {**STAGES, "speculative_algorithm": "EAGLE3"}):
        assert len(messages(version="0.5.23", replaced=SWITCH, **options)) == 1


def test_a_cpu_has_no_such_wishes(messages):
    assert messages(device="cpu", page_size=7) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {**STAGES, "version": "0.5.23"},
            "serving.speculative_algorithm is EAGLE and serving.pp is 2; SGLang 0.5.23 does not start with drafts and several pipeline stages: "
            "set pp to 1 with more tp, or leave the algorithm out, or set SGLANG_ENABLE_PP_SPEC: '1' in environment.",
        ),
        (
            {"dp": 2, "speculative_algorithm": "NGRAM"},
            "serving.speculative_algorithm is NGRAM and serving.dp is 2; SGLang 0.5.9 does not start with these drafts and attention data "
            "parallelism: set dp to 1, or choose EAGLE, EAGLE3 or NEXTN.",
        ),
        (
            {**TREE, "hardware": SM_120},
            "serving.speculative_eagle_topk is 4 and pages hold 64 tokens; with the attention backend triton SGLang 0.5.9 starts with trees of "
            "drafts only at page_size 1: set page_size to 1 or serving.speculative_eagle_topk to 1, or an attention-backend of flashinfer, fa3 in "
            "arguments.",
        ),
        (
            {"page_size": 64, "dp": 8, "chunked_prefill_size": 1000},
            "A prefill chunk is 1,000 tokens, 125 in each of 8 groups and a page 64; the engine starts only with chunks of whole pages: "
            "set chunked_prefill_size to 512 or 1024, to -1, or choose another page_size.",
        ),
    ],
)
def test_what_it_says(messages, options, message):
    assert messages(**options) == [message]


@pytest.mark.parametrize(
    ("capability", "asked", "dtype"),
    [
        ("12.0", None, "fp8_e4m3"),
        ("10.3", "auto", "fp8_e4m3"),
        (None, None, "fp8_e4m3"),
        ("9.0", None, "bfloat16"),
        ("12.0", "bf16", "bfloat16"),
    ],
)
def test_sparse_attention_has_its_own_pages_and_type(request_for, capability, asked, dtype):
    """Of both the engine takes its own, whatever the checkpoint says, and of the pages whatever the operator says."""
    options = {"version": "0.5.9", "model": SPARSE, "page_size": 16, "kv_cache_dtype": asked, "calibration": {}}
    request = request_for(hardware={"compute_capability": capability}, **options)
    assert (request.page_size, request.kv_cache_dtype) == (64, dtype)
    plan = plan_memory(request)
    assert plan.tokens % 64 == 0
    assert plan.settings["kv_cache_dtype"].replace("bf16", "bfloat16") == dtype
    assert "The engine, for this model's sparse attention, replaces page_size 16 by 64." in plan.notes


@pytest.mark.parametrize("chunk", [1, 63, 1000, 8191])
@pytest.mark.parametrize("dp", [1, 8])
def test_the_chunks_that_it_names_are_taken(request_for, chunk, dp):
    request = request_for(page_size=64, dp=dp, chunked_prefill_size=chunk)
    (refusal,) = combination_refusals(request)
    named = refusal.message.split("chunked_prefill_size to ")[1].split(", to -1")[0].split(" or ")
    for size in (*(int(text) for text in named), -1):
        better = replace(request, serving=replace(request.serving, chunked_prefill_size=size))
        assert combination_refusals(better) == ()


def test_a_card_whose_capability_nobody_can_read_counts_as_not_described(request_for):
    request = request_for(model=SPARSE)
    odd = replace(request, host=replace(request.host, compute_capabilities=("odd", "")))
    assert odd.kv_cache_dtype == "fp8_e4m3"
    assert combination_refusals(odd) == ()
