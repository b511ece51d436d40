# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers that reuse the choice of an earlier layer's sparse indexer keep no keys in newer engines. GLM-5.2: 57 of 78 layers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB
from ansible_collections.blackwell.inference.plugins.module_utils.model.config import model_from_config
from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import Weights
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.layer_pools import full_stage
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.pool_inputs import (
    PoolInputs,
    PoolOptions,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.parallelism import (
    Parallelism,
    Speculation,
)
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.dialect import dialect_for

CONFIG = json.loads((Path(__file__).parents[2] / "data" / "models" / "glm-5.2" / "config.json").read_text())
MODEL = model_from_config("glm-5.2", CONFIG, None, Weights(1, 1, "x"), "a", "glm-5.2")
LATENT, KEY = (512 + 64) * 2, 128 + 4


def stage(version: str, layers: range = range(78), host_cache: bool = False, draft: bool = False):
    inputs = PoolInputs(
        dialect_for(version).rules,
        MODEL,
        Parallelism(8),
        "bfloat16",
        8192,
        0.9,
        90 * GIB,
        40 * GIB,
        options=PoolOptions(host_cache=host_cache),
        speculation=Speculation("EAGLE", 3, 1, 4) if draft else None,
    )
    return full_stage(inputs, layers)


@pytest.mark.parametrize(
    ("version", "host_cache", "keyed"),
    [
        ("0.5.9", False, 78),
        ("0.5.17", False, 78),
        ("0.5.18", False, 21),
        ("0.5.18", True, 78),
        ("0.5.21", True, 78),
        ("0.5.22", True, 21),
        ("0.5.23", False, 21),
    ],
)
def test_layers_with_keys(version, host_cache, keyed):
    made = stage(version, host_cache=host_cache)
    assert made.indexer_bytes == keyed * KEY
    assert made.cell_bytes == 78 * LATENT + keyed * KEY


def test_a_stage_counts_its_own():
    """Layers 0 to 2 keep keys, then every fourth: 12 of the first 39, 9 of the others."""
    first, second = (stage("0.5.23", layers).indexer_bytes // KEY for layers in (range(39), range(39, 78)))
    assert (first, second) == (12, 9)


def test_an_mtp_layer_keeps_keys_of_its_own():
    assert stage("0.5.23", draft=True).cell_bytes == 79 * LATENT + 22 * KEY
