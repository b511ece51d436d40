# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tensors every rank holds whole."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.planning.tensor_placement import is_replicated


@pytest.mark.parametrize(
    ("name", "replicated"),
    [
        ("model.layers.0.input_layernorm.weight", True),
        ("model.norm.weight", True),
        ("model.layers.3.self_attn.q_norm.weight", True),
        ("model.layers.3.mlp.gate.weight", True),
        ("language_model.model.layers.3.mlp.gate.e_score_correction_bias", True),
        ("language_model.model.layers.3.self_attn.q_a_proj.weight", True),
        ("language_model.model.layers.3.self_attn.kv_a_proj_with_mqa.weight", True),
        ("vision_tower.encoder.blocks.0.wqkv.weight", True),
        ("visual.blocks.0.attn.qkv.weight", True),
        ("mm_projector.linear_1.weight", True),
        ("model.layers.3.mlp.experts.7.gate_proj.weight_packed", False),
        ("model.layers.0.mlp.gate_up_proj.weight", False),
        ("model.layers.0.mlp.gate_proj.weight", False),
        ("model.layers.3.self_attn.q_b_proj.weight", False),
        ("model.layers.3.self_attn.kv_b_proj.weight", False),
        ("model.layers.3.self_attn.o_proj.weight", False),
        ("model.embed_tokens.weight", False),
        ("lm_head.weight", False),
    ],
)
def test_placement(name, replicated):
    assert is_replicated(name) is replicated
