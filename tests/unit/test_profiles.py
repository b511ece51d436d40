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
from ansible_collections.blackwell.inference.plugins.module_utils.engine.arguments import (
    checked_arguments,
    engine_arguments,
)
from ansible_collections.blackwell.inference.plugins.module_utils.engine.dialect import dialect_for
from ansible_collections.blackwell.inference.plugins.module_utils.planning.calibration import calibration_from_dict
from ansible_collections.blackwell.inference.plugins.module_utils.planning.hardware import host_from_hardware
from ansible_collections.blackwell.inference.plugins.module_utils.planning.model_config import model_from_config
from ansible_collections.blackwell.inference.plugins.module_utils.planning.model_spec import model_from_dict
from ansible_collections.blackwell.inference.plugins.module_utils.planning.planner import plan_memory
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request import PlanRequest
from ansible_collections.blackwell.inference.plugins.module_utils.planning.serving import serving_from_dict

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
}


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


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.yml")))
def test_a_profile_is_whole(name):
    data = profile(name)
    assert set(data) <= KEYS
    assert KEYS - set(data) <= {"measured"}
    assert data["name"] == name
    assert data["provenance"]
    assert isinstance(data["sglang_version"], str)


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


def test_kimis_facts_are_those_of_its_config():
    config = json.loads((FOLDER.parents[1] / "tests" / "data" / "models" / "kimi-k2.5" / "config.json").read_text())
    facts = model_from_dict(profile("kimi-k2.5")["model"])
    read = model_from_config("kimi-k2.5", config, None, facts.weights, "f00d", "kimi-k2.5")
    assert replace(read, identity=None, sources={}) == facts


def test_kimi_is_what_the_issue_of_its_operator_asks_for():
    data = profile("kimi-k2.5")
    assert (data["instance"], data["port"], data["name"]) == ("kimi", 30000, "kimi-k2.5")


def test_qwen_on_the_design_host():
    plan, arguments = planned("qwen3-235b-a22b", DESIGN_HOST)
    assert plan.cell_bytes == 48128  # 4 heads on 8 ranks: one whole head on each
    assert plan.gpu.headroom_bytes >= 2 * GIB
    assert (arguments["mem-fraction-static"], arguments["hicache-ratio"]) == (0.88, 2.0)


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
