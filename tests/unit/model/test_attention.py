# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a token costs."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import ModelError
from ansible_collections.blackwell.inference.plugins.module_utils.core.fields import Fields
from ansible_collections.blackwell.inference.plugins.module_utils.model.attention import (
    GqaGeometry,
    HybridGeometry,
    MlaGeometry,
    OtherAttention,
    SlidingGeometry,
    StateGeometry,
    attention_as_dict,
    attention_from_dict,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.token_cost import stored_bytes

KIMI, LLAMA_8B, QWEN_235B = MlaGeometry(512, 64, 64), GqaGeometry(32, 8, 128, 128), GqaGeometry(64, 4, 128, 128)


@pytest.mark.parametrize(
    ("geometry", "layers", "tp", "dtype", "expected"),
    [
        pytest.param(KIMI, 61, 8, "bfloat16", 70272, id="Kimi-K2.5: every rank keeps the whole latent"),
        pytest.param(KIMI, 61, 1, "bfloat16", 70272, id="MLA does not divide by tp"),
        pytest.param(KIMI, 61, 8, "fp8_e4m3", 35136, id="fp8 halves, and MLA keeps no scales beside it"),
        pytest.param(MlaGeometry(64, 16, 4), 3, 1, "bfloat16", 480, id="a tiny MLA model started on a CPU"),
        pytest.param(LLAMA_8B, 32, 1, "bfloat16", 131072, id="Llama-3.1-8B, 442,750 tokens are 54.04 GiB"),
        pytest.param(LLAMA_8B, 32, 4, "bfloat16", 32768, id="GQA divides by tp"),
        pytest.param(
            GqaGeometry(64, 8, 128, 128), 64, 1, "fp8_e4m3", 131072, id="Qwen3-VL-32B-FP8, 84.9 GiB of 695,136 tokens"
        ),
        pytest.param(
            QWEN_235B, 94, 4, "bfloat16", 48128, id="Qwen3-235B, one head a rank, 367,404 tokens are 16.46 GiB"
        ),
        pytest.param(QWEN_235B, 94, 8, "bfloat16", 48128, id="fewer heads than ranks: one whole head on each"),
        pytest.param(GqaGeometry(64, 4, 192, 128), 10, 2, "bfloat16", 12800, id="values narrower than keys"),
        pytest.param(
            GqaGeometry(16, 2, 256, 256),
            15,
            8,
            "bfloat16",
            15360,
            id="2 heads of 256 on 8 ranks, checked against the engine",
        ),
        pytest.param(GqaGeometry(16, 2, 256, 256), 15, 8, "fp8_e5m2", 7680, id="the same in fp8"),
    ],
)
def test_cell(geometry, layers, tp, dtype, expected):
    assert stored_bytes(geometry, layers, tp, dtype) == expected


@pytest.mark.parametrize(
    "attention",
    [
        KIMI,
        MlaGeometry(512, 64, 64, index_head_dim=128),
        LLAMA_8B,
        SlidingGeometry(GqaGeometry(16, 1, 512, 512), GqaGeometry(16, 8, 256, 256), 1024, "sssssf" * 8),
        HybridGeometry(GqaGeometry(32, 2, 256, 256), StateGeometry(64, 16, 128, 128, 4, "bfloat16"), "lllf" * 15),
        HybridGeometry(KIMI, StateGeometry(32, 32, 128, 128, 4), "lllf"),
        OtherAttention("linear-attention layers", 16),
    ],
)
def test_written_and_read_again(attention):
    assert attention_from_dict(Fields.of(attention_as_dict(attention), "x", "y")) == attention


def test_values_are_as_wide_as_keys_unless_said():
    fields = Fields.of({"kind": "gqa", "heads": 4, "kv_heads": 2, "head_dim": 16}, "x", "y")
    assert attention_from_dict(fields) == GqaGeometry(4, 2, 16, 16)


def test_a_pattern_of_unknown_letters_is_refused():
    gqa = attention_as_dict(LLAMA_8B)
    data = {"kind": "sliding", "full": gqa, "sliding": gqa, "window": 128, "pattern": "slf"}
    with pytest.raises(ModelError) as refused:
        attention_from_dict(Fields.of(data, "attention in the model", "correct the profile"))
    assert str(refused.value) == (
        "attention in the model: pattern is the text 'slf'; expected one letter a layer out of f (full attention), "
        "s (sliding-window attention): correct the profile."
    )


def test_an_unknown_kind_is_refused():
    with pytest.raises(ModelError) as refused:
        attention_from_dict(Fields.of({"kind": "hash", "heads": 4}, "attention in the model", "correct the profile"))
    assert (
        str(refused.value)
        == "attention in the model: kind is the text 'hash'; expected one of gqa, hybrid, mla, other, sliding: correct the profile."
    )
