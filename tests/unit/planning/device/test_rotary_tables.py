# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What lengthened rotary tables take before the pools are sized."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB, MIB
from ansible_collections.blackwell.inference.plugins.module_utils.model.attention import GqaGeometry
from ansible_collections.blackwell.inference.plugins.module_utils.model.config import model_from_config
from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import Weights, model_from_dict
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.draft_pool import rotary_tables_bytes
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.gpu_budget import gpu_budget, gpu_case
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.pool_inputs import PoolInputs
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.pool_sizing import rest_gib
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.parallelism import (
    Parallelism,
    Speculation,
)
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.dialect import sizing_rules
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.version import EngineVersion
from ansible_collections.blackwell.inference.tests.unit.planning.device.pool_cases import model_of

MODELS = Path(__file__).parents[3] / "data" / "models"
VISION = replace(
    model_of(GqaGeometry(64, 8, 128, 128), 64, "Qwen3VLForConditionalGeneration"), vision_rotary_dim=36, multimodal=True
)


def inputs_of(version, model=VISION, context_length=262_144, speculation=None):
    return PoolInputs(
        rules=sizing_rules(EngineVersion.parse(version)),
        model=model,
        parallelism=Parallelism(1),
        kv_cache_dtype="bfloat16",
        context_length=context_length,
        fraction=0.9,
        free_before_bytes=90 * GIB,
        free_after_bytes=50 * GIB,
        speculation=speculation,
    )


@pytest.mark.parametrize(
    ("change", "mib"),
    [
        ({}, 38),  # (262,144 + 256) rows of 36 float32 are 36.04 MiB
        ({"context_length": 131_072}, 20),  # 18.04
        ({"context_length": 65_536}, 0),  # 9.03: below the segments of its own
        ({"context_length": 4_096}, 0),  # shorter than the table that is loaded
        # 2 x 3 x 4 rows for drafts make 152 of 128; 36.05 MiB
        ({"speculation": Speculation("EAGLE", 3, 1, 4)}, 38),
        # 2 x 500 x 64 rows: 45.0 MiB
        ({"speculation": Speculation("EAGLE", 500, 1, 64)}, 46),
        ({"model": replace(VISION, vision_rotary_dim=None)}, 0),
        ({"model": replace(VISION, architecture="KimiK25ForConditionalGeneration")}, 0),
    ],
)
def test_bytes_of_the_segment(change, mib):
    assert rotary_tables_bytes(inputs_of("0.5.10", **change)) == mib * MIB


@pytest.mark.parametrize(
    ("architecture", "first"),
    [
        ("Qwen3VLForConditionalGeneration", "0.5.7"),
        ("Qwen3_5MoeForConditionalGeneration", "0.5.9"),
        ("InternS1ProForConditionalGeneration", "0.5.10"),
        ("Glm5NextForConditionalGeneration", "0.5.20"),
    ],
)
def test_since_which_version(architecture, first):
    model = replace(VISION, architecture=architecture)
    versions = ("0.5.6", "0.5.7", "0.5.8", "0.5.9", "0.5.10", "0.5.19", "0.5.20", "0.5.23")
    grown = [version for version in versions if rotary_tables_bytes(inputs_of(version, model))]
    assert grown == list(versions[versions.index(first) :])


def test_the_pools_lose_them():
    with_table, without = (rest_gib(inputs_of(version)) for version in ("0.5.7", "0.5.6"))
    assert (without - with_table) * GIB == pytest.approx(38 * MIB)


def test_the_ledger_shows_them(request_for):
    lines = gpu_budget(gpu_case(request_for(version="0.5.10", model=VISION), cached=False), 0.88).ledger.lines
    assert {line.name: line.size_bytes for line in lines}["vision rotary table"] == 38 * MIB


@pytest.mark.parametrize(("name", "expected"), [("qwen3.5-397b-a17b-nvfp4", 36), ("kimi-k2.5", None)])
def test_half_a_head_of_the_tower(name, expected):
    config = json.loads((MODELS / name / "config.json").read_text())
    model = model_from_config(name, config, None, Weights(1, 1, "safetensors"), "x", name)
    assert model.vision_rotary_dim == expected
    assert model_from_dict(model.as_dict()).vision_rotary_dim == expected


@pytest.mark.parametrize(
    "tower",
    ["text", {}, {"hidden_size": 1152}, {"hidden_size": 1152, "num_heads": 0}, {"hidden_size": 10**30, "num_heads": 1}],
)
def test_a_tower_that_says_nothing_usable(tower):
    config = json.loads((MODELS / "qwen3.5-397b-a17b-nvfp4" / "config.json").read_text()) | {"vision_config": tower}
    assert model_from_config("x", config, None, Weights(1, 1, "safetensors"), "x", "x").vision_rotary_dim is None
