# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Profiles that ship: whole, valid for their engine, and planned on the hardware they are meant for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB
from ansible_collections.blackwell.inference.plugins.module_utils.model.config import model_from_config
from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import model_from_dict
from ansible_collections.blackwell.inference.plugins.module_utils.model.tensor_placement import shares_of
from ansible_collections.blackwell.inference.plugins.module_utils.planning.planner import plan_memory
from ansible_collections.blackwell.inference.plugins.module_utils.planning.profile_rules import (
    suitability_notes,
    suitability_refusals,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.calibration import (
    calibration_from_dict,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.hardware import host_from_hardware
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.profile_rule import (
    profile_rules_from,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.request import PlanRequest
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.serving import serving_from_dict
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.arguments import (
    checked_arguments,
    engine_arguments,
)
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.dialect import dialect_for
from ansible_collections.blackwell.inference.tests.unit import checkpoint_outline as outline

FOLDER = Path(__file__).parents[2] / "playbooks" / "profiles"
DESIGN_HOST = {"gpus": 8, "gpu_memory_gib": 95.59, "ram_gib": 449, "ram_available_gib": 445}
SMALL_HOST = {"gpus": 0, "ram_gib": 8}
KEYS = {
    "name",
    "instance",
    "port",
    "sglang_version",
    "model_path",
    "provenance",
    "model",
    "serving",
    "arguments",
    "environment",
    "measured",
    "draft_model",
    "draft_model_path",
    "refuses",
}
OPTIONAL = {"measured", "draft_model", "draft_model_path", "refuses"}
NAMES = sorted(path.stem for path in FOLDER.glob("*.yml"))
# The public checkpoint whose config.json, in tests/data/models, says what the profile says, and what its tensors are.
PUBLISHED = {
    "deepseek-v3.2": ("deepseek-v3.2", lambda config: outline.deepseek_rows(config, "fp8", "fp8")),
    "glm-5-nvfp4": ("glm-5-nvfp4", outline.glm_5_nvfp4_rows),
    "gpt-oss-120b": ("gpt-oss-120b", outline.gpt_oss_rows),
    "kimi-k2.5": ("kimi-k2.5", outline.kimi_k25_rows),
    "llama-3.3-70b": ("llama-3.1-70b", outline.dense_rows),
    "minimax-m2.5": ("minimax-m2.5", outline.minimax_m2_rows),
    "qwen3-235b-a22b": ("qwen3-235b-a22b", outline.qwen3_moe_rows),
    "qwen3.5-397b-a17b-nvfp4": ("qwen3.5-397b-a17b-nvfp4", outline.qwen3_5_moe_rows),
}
MODELS = FOLDER.parents[1] / "tests" / "data" / "models"


def profile(name):
    return yaml.safe_load((FOLDER / f"{name}.yml").read_text())["inference_profile_data"]


def planned(name, hardware, version=None):
    data = profile(name)
    dialect = dialect_for(version or data["sglang_version"])
    arguments = checked_arguments(dialect, data["arguments"])
    plan = plan_memory(
        PlanRequest(
            model=model_from_dict(data["model"]),
            rules=dialect.rules,
            dialect=dialect.name,
            serving=serving_from_dict(data["serving"]),
            host=host_from_hardware(hardware),
            calibration=calibration_from_dict(data.get("measured")),
            arguments=arguments,
        )
    )
    return plan, engine_arguments(dialect, plan.settings, arguments)


@pytest.mark.parametrize("name", NAMES)
def test_a_profile_is_whole(name):
    data = profile(name)
    assert set(data) <= KEYS
    assert KEYS - set(data) <= OPTIONAL
    assert data["name"] == name
    assert data["provenance"]
    assert isinstance(data["sglang_version"], str)


def test_profiles_can_run_side_by_side():
    others = [profile(name) for name in NAMES if not name.startswith(("kimi", "tiny"))]
    assert len({data["port"] for data in others}) == len({data["instance"] for data in others}) == len(others)


@pytest.mark.parametrize("name", NAMES)
def test_flags_and_wishes_are_known_to_the_engine(name):
    data = profile(name)
    dialect = dialect_for(data["sglang_version"])
    assert checked_arguments(dialect, data["arguments"])
    assert serving_from_dict(data["serving"])


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_a_profiles_facts_are_those_of_the_published_config(name):
    """And its weights those that the config's tensors make, to the byte."""
    folder, rows = PUBLISHED[name]
    facts = model_from_dict(profile(name)["model"])
    quant = MODELS / folder / "hf_quant_config.json"
    config = json.loads((MODELS / folder / "config.json").read_text())
    read = model_from_config(
        name, config, json.loads(quant.read_text()) if quant.exists() else None, facts.weights, "f00d", name
    )
    assert replace(read, identity=None, sources={}) == facts
    tensors = list(rows(config))
    assert facts.weights.shares == shares_of(tensors, facts.layers, facts.attention)
    if name != "kimi-k2.5":  # whose total is what its files took on a disk
        assert facts.weights.total_bytes == sum(size for _name, _dtype, size in tensors)


def test_kimi_k2_6_is_kimi_k2_5_with_other_weights():
    old, new = (profile(name)["model"] for name in ("kimi-k2.5", "kimi-k2.6"))
    assert {**old, "name": "", "weights": old["weights"]["shares"]} == {
        **new,
        "name": "",
        "weights": new["weights"]["shares"],
    }


@pytest.mark.parametrize("name", ["kimi-k2.5", "kimi-k2.6"])
def test_the_draft_of_a_profile(name):
    data = profile(name)
    draft = model_from_dict(data["draft_model"])
    config = json.loads((MODELS / "kimi-k25-eagle3" / "config.json").read_text())
    read = model_from_config(draft.name, config, None, draft.weights, "f00d", "draft")
    assert replace(read, identity=None, sources={}) == draft
    rows = list(outline.eagle3_llama_rows(config))
    assert draft.weights.shares == shares_of(rows, 1, draft.attention)
    assert draft.weights.total_bytes == sum(size for _name, _dtype, size in rows)
    assert data["draft_model_path"].startswith("/srv/models/")


SM_120 = {**DESIGN_HOST, "compute_capability": "12.0"}


@pytest.mark.parametrize(
    ("name", "serving", "version", "refused", "noted"),
    [
        ("kimi-k2.5", {}, None, None, None),
        ("kimi-k2.5", {"tp": 4}, None, "141 GiB on each of 4", None),
        ("kimi-k2.5", {"kv_cache_dtype": "fp8_e4m3"}, None, None, "90 tokens/s fall to 16"),
        ("kimi-k2.6", {"tp": 4}, None, "nothing published runs on fewer than 8", None),
        ("glm-5-nvfp4", {}, None, None, None),
        ("glm-5-nvfp4", {"kv_cache_dtype": "fp8_e4m3"}, None, "reported to garble", None),
        ("glm-5-nvfp4", {"kv_cache_dtype": "auto"}, None, "reported to garble", None),
        ("glm-5-nvfp4", {}, "0.5.12", "in releases before 0.5.18", None),
        ("deepseek-v3.2", {}, None, "kernels of DeepGEMM", None),
        ("minimax-m2.5", {}, None, None, None),
        ("gpt-oss-120b", {}, None, None, None),
        ("gpt-oss-120b", {}, "0.5.9", "before 0.5.10", None),
        ("qwen3.5-397b-a17b-nvfp4", {}, None, None, None),
        ("qwen3.5-397b-a17b-nvfp4", {"tp": 2}, None, "111 GiB on each of 2", None),
        ("llama-3.3-70b", {}, None, None, None),
    ],
)
def test_what_does_not_run_on_rtx_pro_6000(name, serving, version, refused, noted):
    data = profile(name)
    dialect = dialect_for(version or data["sglang_version"])
    request = PlanRequest(
        model=model_from_dict(data["model"]),
        rules=dialect.rules,
        dialect=dialect.name,
        serving=serving_from_dict({**data["serving"], **serving}),
        host=host_from_hardware(SM_120),
        profile_rules=profile_rules_from(data.get("refuses")),
    )
    refusals = [refusal.message for refusal in suitability_refusals(request)]
    assert (len(refusals), len(suitability_notes(request))) == (int(refused is not None), int(noted is not None))
    assert all(refused in message for message in refusals)
    assert all(noted in note for note in suitability_notes(request))


def test_kimi_on_the_design_host():
    plan, arguments = planned("kimi-k2.5", DESIGN_HOST)
    assert plan.tokens == 159294
    assert plan.gpu.ledger.lines[0].source == "profile: 2026-02-24 on 8 RTX PRO 6000"
    assert arguments == {
        "chunked-prefill-size": 8192,
        "context-length": 262144,
        "device": "cuda",
        "enable-cache-report": True,
        "enable-hierarchical-cache": True,
        "enable-metrics": True,
        "hicache-io-backend": "kernel",
        "hicache-size": 48,
        "hicache-write-policy": "write_through",
        "max-prefill-tokens": 16384,
        "mem-fraction-static": 0.88,
        "reasoning-parser": "kimi_k2",
        "tool-call-parser": "kimi_k2",
        "tp-size": 8,
        "trust-remote-code": True,
    }


def test_kimi_on_the_newest_engine():
    plan, _arguments = planned("kimi-k2.5", DESIGN_HOST, version="0.5.23")
    assert plan.tokens == 157802
    assert f"{plan.gpu.headroom_bytes / GIB:.2f}" == "4.03"  # a prefill graph takes 1.5 GiB of what 0.5.9 kept


def test_kimi_is_what_the_issue_of_its_operator_asks_for():
    data = profile("kimi-k2.5")
    assert (data["instance"], data["port"], data["name"]) == ("kimi", 30000, "kimi-k2.5")


def test_qwen_on_the_design_host():
    plan, arguments = planned("qwen3-235b-a22b", DESIGN_HOST)
    assert plan.cell_bytes == 48128  # 4 heads on 8 ranks: one whole head on each
    assert plan.gpu.headroom_bytes >= plan.request.gpus[0].total_bytes // 20
    assert arguments["mem-fraction-static"] > 0.88  # a table of 2,048 requests is small at 40,960 tokens
    assert arguments["hicache-size"] == plan.size_gb_that_fits  # twice the device's pool does not fit


def test_the_tiny_model_on_a_small_host():
    plan, arguments = planned("tiny-llama", SMALL_HOST)
    assert plan.gpu is None
    assert plan.tokens == 40000
    assert arguments == {
        "context-length": 2048,
        "device": "cpu",
        "enable-cache-report": True,
        "sleep-on-idle": True,
        "enable-metrics": True,
        "max-total-tokens": 40000,
        "tp-size": 1,
    }
