# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damage for configurations: what downloads, editors and jokers do to them. Every run with the same seed does the same."""

from __future__ import annotations

import copy
import os
import random
from typing import Any

SEED = int(os.environ.get("BLACKWELL_FUZZ_SEED", "20260224"))
_ABSURD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 3, 10**9, 10**30, -(10**30), 2**63, 1.5, -0.0, 1e308, float("nan"), float("inf"), "", "0", "61", "4096",
    "full_attention", "\ud800", "\0", "x" * 5000, [], {}, [[]], [None], [1, "a", None], ["sliding_attention"], {"a": {"b": []}}, {"type": "yarn"},
)  # fmt: skip
_KEYS = (
    "kv_lora_rank", "index_topk", "index_topk_freq", "index_skip_topk_offset", "indexer_types", "layer_types", "hybrid_layer_pattern",
    "hybrid_override_pattern", "linear_attn_config", "full_attention_interval", "linear_num_value_heads", "attention_chunk_size", "rope_scaling",
    "quantization_config", "text_config", "llm_config", "attention_other_setting", "num_nextn_predict_layers", "loop_num", "multi_query", "shares",
    "block_configs", "compress_ratios", "swa_head_dim", "global_head_dim", "layers_block_type", "mamba_ssm_dtype", "kda_layers", "pattern",
)  # fmt: skip


def sentence(error: Exception) -> bool:
    """Whether a refusal reads as one: some words on one line, with a full stop."""
    text = str(error)
    return text.endswith(".") and len(text.split()) >= 6 and "\n" not in text and len(text) < 1200


def damaged(tree: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """A copy with one to four places changed: taken away, replaced, repeated, wrapped, or added."""
    made = copy.deepcopy(tree)
    for _change in range(chance.randint(1, 4)):
        places = list(_places(made))
        holder, key = chance.choice(places) if places else (made, "x")
        _damage(holder, key, chance)
    return made


def _places(tree: Any) -> list[tuple[Any, Any]]:
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    here = [(tree, key) for key, _value in inner]
    values = list(tree.values()) if isinstance(tree, dict) else tree if isinstance(tree, list) else []
    # Of a long list a few places stand for all.
    return here[:80] + [place for value in values[:80] for place in _places(value)]


def _damage(holder: Any, key: Any, chance: random.Random) -> None:
    kind = chance.randrange(7)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[chance.choice(_KEYS)] = copy.deepcopy(chance.choice(_ABSURD))
    elif kind == 2:
        holder[key] = [holder[key]] * chance.randint(0, 3)
    elif kind == 3:
        holder[key] = str(holder[key])
    elif kind == 4 and isinstance(holder[key], int):
        holder[key] = holder[key] * chance.choice((-1, 0, 2, 10**6, 10**12))
    elif kind == 5 and isinstance(holder[key], (list, str)):
        holder[key] = holder[key][: chance.randint(0, len(holder[key]))]
    else:
        holder[key] = copy.deepcopy(chance.choice(_ABSURD))


def scrambled(content: bytes, chance: random.Random) -> bytes:
    """The bytes cut off, with bits turned, a piece repeated or left out."""
    data = bytearray(content)
    for _change in range(chance.randint(1, 3)):
        at = chance.randrange(len(data) + 1)
        kind = chance.randrange(5)
        if kind == 0:
            del data[at:]
        elif kind == 1 and data:
            data[at % len(data)] ^= 1 << chance.randrange(8)
        elif kind == 2:
            data[at:at] = data[at : at + chance.randint(1, 40)]
        elif kind == 3:
            del data[at : at + chance.randint(1, 40)]
        else:
            data[at:at] = bytes(chance.randrange(256) for _byte in range(chance.randint(1, 8)))
    return bytes(data)
