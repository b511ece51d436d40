# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator's flags: right ones pass, wrong ones are named with what to write instead."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import EngineError
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.arguments import (
    checked_arguments,
    engine_arguments,
)
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.dialect import FLAG_NAMES, dialect_for
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.flags.table import VERSIONS

OLD, NEW, BETWEEN = dialect_for("0.5.9"), dialect_for("0.5.23"), dialect_for("0.5.15")


def fault(dialect, arguments):
    with pytest.raises(EngineError) as refused:
        checked_arguments(dialect, arguments)
    assert [row["name"] for row in refused.value.details["refusals"]] == ["argument"]
    return str(refused.value)


@pytest.mark.parametrize("dialect", [OLD, NEW], ids=["0.5.9", "0.5.23"])
def test_right_flags_pass(dialect):
    given = {
        "tool-call-parser": "kimi_k2",
        "trust-remote-code": True,
        "watchdog-timeout": 600,
    }
    assert checked_arguments(dialect, given) == given


def test_a_null_takes_a_flag_away():
    assert checked_arguments(OLD, {"trust-remote-code": None, "enable-metrics": True}) == {"enable-metrics": True}


def test_a_dictionary_becomes_json():
    assert checked_arguments(
        NEW, {"model-loader-extra-config": '{"num_threads": 8}', "mm-process-config": {"b": 1, "a": 2}}
    ) == {
        "mm-process-config": '{"a": 2, "b": 1}',
        "model-loader-extra-config": '{"num_threads": 8}',
    }


@pytest.mark.parametrize(
    ("dialect", "arguments", "message"),
    [
        pytest.param(
            NEW,
            {"cuda-graph-bs": [1]},
            "arguments has cuda-graph-bs; SGLang 0.5.23 has no flag --cuda-graph-bs: cuda-graph-bs-decode is its name since 0.5.20.",
            id="renamed",
        ),
        pytest.param(
            NEW,
            {"torchao-config": "x"},
            "arguments has torchao-config; SGLang 0.5.23 has no flag --torchao-config: it went in 0.5.18 without a successor.",
            id="removed",
        ),
        pytest.param(
            NEW,
            {"disable-cuda-graph": True},
            "arguments has disable-cuda-graph; the server config of SGLang 0.5.23 does not take --disable-cuda-graph: the server config takes "
            "disable-decode-cuda-graph and disable-prefill-cuda-graph instead.",
            id="not taken from a config file",
        ),
        pytest.param(
            OLD,
            {"dcp-size": 2},
            "arguments has dcp-size; SGLang 0.5.9 has no flag --dcp-size, which came in 0.5.15: leave it out, or raise inference_sglang_version.",
            id="too new",
        ),
        pytest.param(
            OLD,
            {"cuda-graph-bs-decode": [1]},
            "arguments has cuda-graph-bs-decode; SGLang 0.5.9 has no flag --cuda-graph-bs-decode: cuda-graph-bs is its name before 0.5.20.",
            id="too new, by its later name",
        ),
        pytest.param(
            BETWEEN,
            {"cuda-graph-bs-decode": [1]},
            "arguments has cuda-graph-bs-decode; the server config of SGLang 0.5.15 does not take --cuda-graph-bs-decode, only its older name: "
            "write cuda-graph-bs.",
            id="a config takes the deprecated name alone",
        ),
        pytest.param(
            NEW,
            {"lora-paths": ["a"]},
            "arguments has lora-paths; the server config of SGLang 0.5.23 does not take --lora-paths: leave it out.",
            id="not taken from a config file, and nothing in its place",
        ),
        pytest.param(
            OLD,
            {"hybrid-kvcache-ratio": True},
            "arguments has hybrid-kvcache-ratio, with which SGLang 0.5.9 does nothing: it no longer counts, and swa-full-tokens-ratio does its work.",
            id="without effect",
        ),
        pytest.param(
            NEW,
            {"watchdog-timeuot": 1},
            "arguments has watchdog-timeuot; SGLang 0.5.23 has no flag --watchdog-timeuot: did you mean watchdog-timeout?",
            id="misspelt",
        ),
        pytest.param(
            NEW,
            {"zzz": 1},
            "arguments has zzz; SGLang 0.5.23 has no flag --zzz: leave it out, or look it up in the engine's --help.",
            id="unknown",
        ),
        pytest.param(
            OLD,
            {"watchdog-timeout": "600"},
            'arguments has watchdog-timeout with the value "600"; SGLang 0.5.9 expects a number.',
            id="wrong type",
        ),
        pytest.param(
            OLD,
            {"radix-eviction-policy": "mru"},
            'arguments has radix-eviction-policy with the value "mru"; SGLang 0.5.9 expects one of lfu, lru.',
            id="wrong choice",
        ),
        pytest.param(
            OLD,
            {"cuda-graph-bs": 4},
            "arguments has cuda-graph-bs with the value 4; SGLang 0.5.9 expects a list, each a whole number.",
            id="no list",
        ),
        pytest.param(
            OLD,
            {"--enable-metrics": True},
            "arguments has '--enable-metrics'; expected the flag's name with hyphens inside and none in front: write 'enable-metrics'.",
            id="dashes",
        ),
        pytest.param(
            OLD,
            {"enable_metrics": True},
            "arguments has 'enable_metrics'; expected the flag's name with hyphens inside and none in front: write 'enable-metrics'.",
            id="underscores",
        ),
        pytest.param(
            OLD,
            {"mem-fraction-static": 0.9},
            "arguments has mem-fraction-static, which planning decides: set serving.mem_fraction_static (inference_serving) instead.",
            id="planned",
        ),
        pytest.param(
            OLD,
            {"tensor-parallel-size": 4},
            "arguments has tensor-parallel-size, which planning decides: set serving.tp (inference_serving) instead.",
            id="planned, by another name",
        ),
        pytest.param(
            NEW,
            {"enable-hicache": True},
            "arguments has enable-hicache, which planning decides: set serving.hicache (inference_serving) instead.",
            id="planned, by its newer name",
        ),
        pytest.param(
            NEW,
            {"cuda-graph-max-bs": 8},
            "arguments has cuda-graph-max-bs, which planning decides: set serving.cuda_graph_max_bs (inference_serving) instead.",
            id="planned, by a name that is gone",
        ),
        pytest.param(
            NEW,
            {"enable-dp-attention": True},
            "arguments has enable-dp-attention, which planning decides: set serving.dp (inference_serving) instead.",
            id="planned, with another flag",
        ),
        pytest.param(
            OLD,
            {"speculative-draft-model": "x"},
            "arguments has speculative-draft-model, which the instance decides: set inference_draft_model_path instead.",
            id="the draft model, by another name",
        ),
        pytest.param(
            OLD,
            {"host": "0.0.0.0"},
            "arguments has host, which the instance decides: set inference_address instead.",
            id="the instance's own",
        ),
        pytest.param(
            NEW,
            {"model": "/srv/models/other"},
            "arguments has model, which the instance decides: set inference_model_path instead.",
            id="the instance's own, by another name",
        ),
        pytest.param(
            NEW,
            {"config": "x.yaml"},
            "arguments has config; the server config is what this collection writes: give its entries in arguments.",
            id="config",
        ),
        pytest.param(
            NEW,
            {"ep-size": 1, "ep": 1},
            "arguments has ep and ep-size, which are one flag: keep one of them.",
            id="twice",
        ),
    ],
)
def test_wrong_flags(dialect, arguments, message):
    assert fault(dialect, arguments) == message


def test_a_secret_is_refused_without_being_shown():
    message = fault(NEW, {"api-key": "s3cr3t"})
    assert (
        message
        == "arguments has api-key, which would be written into the plan and the logs: give the key in inference_api_key."
    )


def test_all_faults_at_once():
    with pytest.raises(EngineError) as refused:
        checked_arguments(OLD, {"zzz": 1, "watchdog-timeout": "x"})
    assert len(refused.value.details["refusals"]) == 2


def test_a_deprecated_name_passes_where_the_server_config_takes_no_other():
    assert checked_arguments(BETWEEN, {"cuda-graph-bs": [1, 2]}) == {"cuda-graph-bs": [1, 2]}


def test_the_plans_settings_under_the_engines_names():
    settings = {
        "device": "cuda",
        "tp": 8,
        "mem_fraction_static": 0.88,
        "cuda_graph_max_bs": 64,
        "hicache": True,
        "hicache_ratio": 4.0,
    }
    assert engine_arguments(OLD, settings, {"enable-metrics": True}) == {
        "enable-metrics": True,
        "device": "cuda",
        "tp-size": 8,
        "mem-fraction-static": 0.88,
        "cuda-graph-max-bs": 64,
        "enable-hierarchical-cache": True,
        "hicache-ratio": 4.0,
    }
    assert engine_arguments(NEW, settings, {})["cuda-graph-max-bs-decode"] == 64


@pytest.mark.parametrize(
    ("key", "value", "start"),
    [
        (
            "kv_cache_dtype",
            "nvfp4",
            'serving.kv_cache_dtype becomes kv-cache-dtype with the value "nvfp4"; SGLang 0.5.9',
        ),
        (
            "speculative_algorithm",
            "DFLASH",
            "serving.speculative_algorithm becomes speculative-algorithm with the value",
        ),
        ("draft_model_path", "", "inference_draft_model_path becomes speculative-draft-model-path with the value"),
    ],
)
def test_a_setting_that_the_version_does_not_take_is_refused_by_the_name_that_people_gave_it(key, value, start):
    with pytest.raises(EngineError) as error:
        engine_arguments(OLD, {key: value}, {})
    assert str(error.value).startswith(start)


@pytest.mark.parametrize(
    ("version", "dp", "flags"),
    [
        ("0.5.5", 2, {"dp-size": 2, "enable-dp-attention": True}),
        ("0.5.21", 4, {"dp-size": 4, "enable-dp-attention": True}),
        ("0.5.22", 4, {"attn-dp-size": 4}),
        ("0.5.9", 1, {}),
        ("0.5.23", 1, {}),
    ],
)
def test_attention_groups(version, dp, flags):
    assert engine_arguments(dialect_for(version), {"dp": dp}, {}) == flags


def test_one_pipeline_stage_needs_no_flag():
    assert engine_arguments(NEW, {"pp": 1}, {}) == {}
    assert engine_arguments(NEW, {"pp": 2}, {}) == {"pp-size": 2}


SETTINGS = {
    "device": "cuda",
    "tp": 8,
    "pp": 2,
    "dp": 2,
    "mem_fraction_static": 0.88,
    "context_length": 4096,
    "max_running_requests": 64,
    "max_total_tokens": 4096,
    "chunked_prefill_size": 4096,
    "max_prefill_tokens": 4096,
    "cuda_graph_max_bs": 64,
    "page_size": 64,
    "kv_cache_dtype": "fp8_e4m3",
    "swa_full_tokens_ratio": 0.5,
    "mamba_full_memory_ratio": 0.5,
    "max_mamba_cache_size": 64,
    "mamba_ssm_dtype": "bfloat16",
    "speculative_algorithm": "EAGLE3",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 1,
    "speculative_num_draft_tokens": 4,
    "draft_model_path": "/srv/models/draft",
    "hicache": True,
    "hicache_size": 30,
    "hicache_ratio": 2.0,
    "hicache_write_policy": "write_through",
    "hicache_io_backend": "kernel",
    "hicache_mem_layout": "page_first",
}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_setting_is_a_flag_that_the_server_config_of_every_version_takes(version):
    """engine_arguments itself refuses what the recorded table lacks or its server config bars."""
    assert set(SETTINGS) == set(FLAG_NAMES)
    assert len(engine_arguments(dialect_for(version), SETTINGS, {})) >= len(SETTINGS)


@pytest.mark.parametrize(
    ("version", "refused"), [("0.5.9", False), ("0.5.16", False), ("0.5.17", True), ("0.5.20", True)]
)
def test_a_value_that_the_parser_takes_and_the_engine_refuses(version, refused):
    dialect = dialect_for(version)
    if not refused:
        assert engine_arguments(dialect, {"kv_cache_dtype": "fp4_e2m1"}, {}) == {"kv-cache-dtype": "fp4_e2m1"}
        return
    with pytest.raises(EngineError) as error:
        engine_arguments(dialect, {"kv_cache_dtype": "fp4_e2m1"}, {})
    assert str(error.value) == (
        "serving.kv_cache_dtype becomes kv-cache-dtype with the value fp4_e2m1, which SGLang refuses since 0.5.17: write fp4_mx_block16."
    )
