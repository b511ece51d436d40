# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How all unit tests run, and the requests that tests of planning share."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.model.attention import GqaGeometry, MlaGeometry
from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import ModelSpec, Weights
from ansible_collections.blackwell.inference.plugins.module_utils.planning.plan import MemoryPlan
from ansible_collections.blackwell.inference.plugins.module_utils.planning.planner import plan_memory
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.calibration import (
    calibration_from_dict,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.hardware import host_from_hardware
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.request import PlanRequest
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.serving import serving_from_dict
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.dialect import dialect_for, sizing_rules
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.sizing_rules import SizingRules
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.version import EngineVersion

# The same cases in each run, no matter how busy the machine is, and no database left in the checkout.
hypothesis.settings.register_profile("steady", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("steady")

CASES = Path(__file__).parents[1] / "data" / "cases"

KIMI = ModelSpec(
    name="kimi-k2.5",
    architecture="KimiK25ForConditionalGeneration",
    model_type="kimi_k25",
    quantization="compressed-tensors int4",
    dtype="bfloat16",
    kv_cache_dtype="bfloat16",
    layers=61,
    hidden_size=7168,
    vocab_size=163840,
    max_position_embeddings=262144,
    multimodal=True,
    experts=384,
    attention=MlaGeometry(512, 64, 64),
    weights=Weights(547_000_000_000, 64, "profile"),
)
LLAMA = ModelSpec(
    name="llama-8b",
    architecture="LlamaForCausalLM",
    model_type="llama",
    quantization=None,
    dtype="bfloat16",
    kv_cache_dtype="bfloat16",
    layers=32,
    hidden_size=4096,
    vocab_size=128256,
    max_position_embeddings=131072,
    multimodal=False,
    experts=None,
    attention=GqaGeometry(32, 8, 128, 128),
    weights=Weights(16_060_522_496, 4, "safetensors", 291, {"BF16": 16_060_522_496}, 266_240),
)


@pytest.fixture(scope="session")
def case() -> dict[str, Any]:
    """What was measured on the design host."""
    return json.loads((CASES / "design_host.json").read_text())


@pytest.fixture
def kimi() -> ModelSpec:
    return KIMI


@pytest.fixture
def llama() -> ModelSpec:
    return LLAMA


@pytest.fixture
def host_data(case: dict[str, Any]) -> dict[str, Any]:
    """The design host as an operator would write it down, with its two load figures."""
    rank = case["rank"]
    measured = {
        "gpu_free_before_load_gib": rank["free_before_load_gib"],
        "gpu_free_after_load_gib": rank["free_after_load_gib"],
    }
    return {**case["hardware"], **measured}


@pytest.fixture
def request_for(host_data: dict[str, Any], case: dict[str, Any]) -> Callable[..., PlanRequest]:
    """`request_for(version="0.5.9", model=..., hardware={...}, arguments={...}, calibration={...}, replaced={...}, **serving)`.

    `hardware` changes the design host's; None in it takes a key away.
    """

    def make(
        version: str = "0.5.9",
        model: ModelSpec = KIMI,
        hardware: dict[str, Any] | None = None,
        arguments: dict[str, Any] | None = None,
        calibration: dict[str, Any] | None = None,
        replaced: dict[str, Any] | None = None,
        **serving: Any,
    ) -> PlanRequest:
        data = {key: value for key, value in {**host_data, **(hardware or {})}.items() if value is not None}
        options = {"tp": 8, "mem_fraction_static": 0.88, **serving}
        graphs = {"graph_bytes": int(case["rank"]["cuda_graph_gib"] * 2**30)}
        made = PlanRequest(
            model=model,
            rules=dialect_for(version).rules,
            dialect=dialect_for(version).name,
            serving=serving_from_dict(options),
            host=host_from_hardware(data),
            calibration=calibration_from_dict(graphs if calibration is None else calibration),
            arguments=arguments or {},
        )
        return replace(made, **(replaced or {}))

    return make


@pytest.fixture
def plan(request_for: Callable[..., PlanRequest]) -> Callable[..., MemoryPlan]:
    """A plan for the design host; see `request_for`."""
    return lambda **options: plan_memory(request_for(**options))


@pytest.fixture(scope="session")
def configs() -> dict[str, dict[str, Any]]:
    """The parts of public config.json files that planning reads, by the checkpoint's name; `_source` says where from."""
    return json.loads((CASES / "model_configs.json").read_text())


@pytest.fixture(scope="session")
def rules_of() -> Callable[[str], SizingRules]:
    """The sizing rules of a version, also of one that no dialect covers yet."""
    return lambda version: sizing_rules(EngineVersion.parse(version))
