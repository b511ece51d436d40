# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Thousands of damaged configurations: each is a model or a sentence, never a traceback.

Another seed: BLACKWELL_FUZZ_SEED=7 pytest tests/unit/planning/test_absurd_configs.py
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import InferenceError
from ansible_collections.blackwell.inference.plugins.module_utils.model.config import model_from_config
from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import ModelSpec, Weights, model_from_dict
from ansible_collections.blackwell.inference.plugins.module_utils.model.weight_shares import Share, WeightShares
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.gpu_memory import rank_weights
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.parallelism import Parallelism
from ansible_collections.blackwell.inference.tests.unit.mutations import SEED, damaged, sentence
from ansible_collections.blackwell.inference.tests.unit.planning.device.pool_cases import rules_of

MODELS = Path(__file__).parents[2] / "data" / "models"
CONFIGS = {path.parent.name: json.loads(path.read_text()) for path in sorted(MODELS.glob("*/config.json"))}
SHARES = WeightShares(((1, Share(1, 2, 3, 4, 2)),), Share(5), Share(6))
EACH = 150


def attempt(read: Callable[[], ModelSpec], what: str, data: object) -> ModelSpec | None:
    """The model, or None after a refusal that reads as one."""
    refusal = None
    try:
        return read()
    except InferenceError as error:
        refusal = error
    except Exception as crash:
        pytest.fail(f"seed {SEED}, {what}: {crash!r}\n{json.dumps(data)}")
    assert sentence(refusal), f"seed {SEED}, {what}: {refusal}"
    return None


@pytest.mark.parametrize("name", CONFIGS)
def test_a_damaged_config_is_a_model_or_a_sentence(name):
    chance = random.Random(f"{SEED} {name}")
    models = []
    for number in range(EACH):
        config = damaged(CONFIGS[name], chance)
        read = partial(model_from_config, "m", config, None, Weights(1, 1, "x"), "a", "/srv/models/m")
        models.append(attempt(read, f"config {number} of {name}", config))
    whole = [model for model in models if model is not None]
    assert 0 < len(whole) < EACH, (
        f"seed {SEED}: {len(whole)} of {EACH} were read; the damage does not reach what is read"
    )
    assert all(model.layers >= 1 and model.attention.heads >= 1 and json.dumps(model.as_dict()) for model in whole)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_damaged_profile_is_a_model_or_a_sentence(name):
    chance = random.Random(f"{SEED} profile {name}")
    weights = Weights(10**9, 1, "x", by_dtype={"BF16": 1}, shares=SHARES)
    whole = model_from_config(name, CONFIGS[name], None, weights, "a", name).as_dict()
    for number in range(EACH):
        data = damaged(whole, chance)
        model = attempt(partial(model_from_dict, data, "The profile's model"), f"profile {number} of {name}", data)
        assert model is None or rank_weights(model, Parallelism(8), rules_of("0.5.9")).size_bytes >= 0
