# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inputs of pool sizing for tests: short ways to say them, and the recorded starts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_collections.blackwell.inference.plugins.module_utils.core.fields import Fields
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import gib_to_bytes
from ansible_collections.blackwell.inference.plugins.module_utils.model.attention import (
    Attention,
    GqaGeometry,
    HybridGeometry,
    attention_from_dict,
)
from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import ModelSpec, Weights
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device import pool_sizing
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.pool_inputs import (
    PoolInputs,
    PoolOptions,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.pools import DevicePools
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.parallelism import (
    Parallelism,
    Speculation,
)
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.dialect import sizing_rules
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.sizing_rules import SizingRules
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.version import EngineVersion

VERSIONS = [f"0.5.{patch}" for patch in range(5, 24)]
_RECORDED = Path(__file__).parents[3] / "data" / "sglang" / "pools.json"


def rules_of(version: str) -> SizingRules:
    return sizing_rules(EngineVersion.parse(version))


def model_of(
    attention: Attention, layers: int, architecture: str = "SomeForCausalLM", draft_layers: int = 0
) -> ModelSpec:
    return ModelSpec(
        name="some",
        architecture=architecture,
        model_type="some",
        quantization=None,
        dtype="bfloat16",
        kv_cache_dtype="bfloat16",
        layers=layers,
        hidden_size=4096,
        vocab_size=128256,
        max_position_embeddings=262144,
        multimodal=False,
        experts=None,
        attention=attention,
        weights=Weights(1, 1, "profile"),
        draft_layers=draft_layers,
    )


def inputs_of(
    model: ModelSpec, before_gib: str, after_gib: str, fraction: float, tp: int = 1, **others: Any
) -> PoolInputs:
    """`pp`, `dp`, `dtype`, `context` and the fields of PoolInputs may be given too. The rules are the newest's unless a test says others."""
    parallelism = Parallelism(tp, others.pop("pp", 1), others.pop("dp", 1))
    return PoolInputs(
        others.pop("rules", rules_of(VERSIONS[-1])),
        model,
        parallelism,
        others.pop("dtype", "bfloat16"),
        others.pop("context", 262144),
        fraction,
        gib_to_bytes(before_gib),
        gib_to_bytes(after_gib),
        **others,
    )


def size_pools(inputs: PoolInputs, rules: SizingRules) -> DevicePools:
    """By the rules of another version than the inputs'."""
    return pool_sizing.size_pools(replace(inputs, rules=rules))


def size_stages(inputs: PoolInputs, rules: SizingRules) -> tuple[DevicePools, ...]:
    return pool_sizing.size_stages(replace(inputs, rules=rules))


def rest_gib(inputs: PoolInputs, rules: SizingRules) -> float:
    return pool_sizing.rest_gib(replace(inputs, rules=rules))


def recorded() -> list[dict[str, Any]]:
    return json.loads(_RECORDED.read_text())["starts"]


def inputs_recorded(start: dict[str, Any]) -> PoolInputs:
    attention = attention_from_dict(Fields.of(start["attention"], "attention", "record it again"))
    # What was recorded is the sizing alone: states are of the type that the case names, and no default is resolved.
    state = {"state_dtype": attention.state.dtype} if isinstance(attention, HybridGeometry) else {}
    return PoolInputs(
        rules_of(start["version"]),
        model_of(attention, start["layers"], start["architecture"]),
        Parallelism(start["tp"], start.get("pp", 1), start.get("dp", 1)),
        start["kv_cache_dtype"],
        start["context_length"],
        start["fraction"],
        start["free_before_bytes"],
        start["free_after_bytes"],
        start.get("reserve_bytes", 0),
        _speculation(start.get("speculation")),
        start.get("draft_weights_bytes", 0),
        PoolOptions(**{"state_extra_buffer": False, **state, **start.get("wishes", {})}),
    )


def _speculation(said: dict[str, Any] | None) -> Speculation | None:
    if said is None:
        return None
    layers = said["draft_layers"]
    draft = model_of(GqaGeometry(32, 8, 128, 128), layers) if layers else None
    return Speculation(said["algorithm"], said["steps"], said["topk"], said["draft_tokens"], draft)
