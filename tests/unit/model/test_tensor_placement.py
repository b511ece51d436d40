# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a tensor goes, by the names of public checkpoints."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.model.attention import (
    GqaGeometry,
    HybridGeometry,
    MlaGeometry,
    SlidingGeometry,
    StateGeometry,
)
from ansible_collections.blackwell.inference.plugins.module_utils.model.tensor_placement import is_replicated, shares_of
from ansible_collections.blackwell.inference.plugins.module_utils.model.weight_shares import Share, WeightShares

MLA = MlaGeometry(512, 64, 64)
GQA = GqaGeometry(64, 4, 128, 128)
SLIDING = SlidingGeometry(GQA, GqaGeometry(64, 8, 128, 128), 128, "sf")
HYBRID = HybridGeometry(GQA, StateGeometry(64, 16, 128, 128, 4), "lf")


@pytest.mark.parametrize(
    ("name", "replicated"),
    [
        ("model.layers.3.input_layernorm.weight", True),
        ("model.norm.weight", True),
        ("model.layers.3.mlp.gate.weight", True),
        ("model.layers.3.mlp.gate.e_score_correction_bias", True),
        ("model.layers.3.block_sparse_moe.e_score_correction_bias", True),
        ("model.layers.3.mlp.router.bias", True),
        ("model.layers.3.mlp.shared_expert_gate.weight", True),
        ("language_model.model.layers.3.self_attn.q_a_proj.weight", True),
        ("language_model.model.layers.3.self_attn.kv_a_proj_with_mqa.weight", True),
        ("model.layers.3.self_attn.indexer.wq_b.weight", True),
        ("backbone.layers.3.mixer.fc1_latent_proj.weight", True),
        ("model.layers.3.self_attn.f_a_proj.weight", True),
        ("vision_tower.encoder.blocks.0.mlp.fc0.weight", True),
        ("vision_tower.encoder.blocks.0.wqkv.weight", False),
        ("model.visual.blocks.0.attn.qkv.weight", False),
        ("model.visual.blocks.0.attn.proj.weight", False),
        ("visual.blocks.0.mlp.linear_fc1.weight", False),
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
def test_replication(name, replicated):
    assert is_replicated(name) is replicated


@pytest.mark.parametrize(
    ("name", "dtype", "attention", "part", "expected"),
    [
        pytest.param("model.layers.1.mlp.experts.7.up_proj.weight", "BF16", GQA, 1, Share(tensor_bytes=840), id="expert"),
        pytest.param("model.layers.1.mlp.shared_experts.up_proj.weight", "BF16", GQA, 1, Share(tensor_bytes=840), id="shared expert"),
        pytest.param("model.layers.1.mlp.gate.weight", "BF16", GQA, 1, Share(replicated_bytes=840), id="router"),
        pytest.param("model.layers.1.self_attn.q_proj.weight", "BF16", GQA, 1, Share(attention_bytes=840), id="queries"),
        pytest.param("model.layers.1.self_attn.k_proj.weight", "BF16", GQA, 1, Share(kv_bytes=840, kv_heads=4), id="keys"),
        pytest.param("model.layers.1.self_attn.v_proj.bias", "BF16", GQA, 1, Share(kv_bytes=840, kv_heads=4), id="values"),
        pytest.param(
            "model.layers.1.self_attn.qkv_proj.weight", "BF16", GqaGeometry(10, 2, 64, 64), 1,
            Share(attention_bytes=600, kv_bytes=240, kv_heads=2), id="fused",
        ),
        pytest.param("model.layers.0.self_attn.k_proj.weight", "BF16", SLIDING, 0, Share(kv_bytes=840, kv_heads=8), id="keys of a sliding layer"),
        pytest.param("model.layers.0.linear_attn.in_proj_qkvz.weight", "BF16", HYBRID, 0, Share(attention_bytes=840), id="delta net"),
        pytest.param("model.layers.0.self_attn.k_proj.weight", "BF16", HYBRID, 0, Share(attention_bytes=840), id="keys without a cache"),
        pytest.param("model.layers.1.self_attn.kv_b_proj.weight", "BF16", MLA, 1, Share(attention_bytes=1680), id="absorbed, held twice"),
        pytest.param("model.layers.1.self_attn.kv_b_proj.weight", "F8_E4M3", MLA, 1, Share(attention_bytes=2520), id="absorbed from FP8"),
        pytest.param("model.layers.1.self_attn.kv_b_proj.weight_scale_inv", "F32", MLA, 1, Share(attention_bytes=840), id="its scale"),
        pytest.param("backbone.layers.1.mixer.experts.0.up_proj.weight", "BF16", GQA, 1, Share(tensor_bytes=840), id="expert called mixer"),
        pytest.param("model.embed_tokens.weight", "BF16", GQA, "first", Share(attention_bytes=840), id="embedding"),
        pytest.param("lm_head.weight", "BF16", GQA, "last", Share(tensor_bytes=840), id="head"),
        pytest.param("model.norm.weight", "BF16", GQA, "last", Share(replicated_bytes=840), id="last norm"),
        pytest.param("model.visual.merger.mlp.0.weight", "BF16", GQA, "every", Share(replicated_bytes=840), id="projector"),
        pytest.param("model.layers.2.mlp.experts.0.up_proj.weight", "BF16", GQA, "draft", Share(tensor_bytes=840), id="MTP behind the layers"),
        pytest.param("mtp.layers.0.mlp.gate.weight", "BF16", GQA, "draft", Share(replicated_bytes=840), id="MTP by name"),
    ],
)  # fmt: skip
def test_a_tensor_goes_where_the_engine_puts_it(name, dtype, attention, part, expected):
    shares = shares_of([(name, dtype, 840)], 2, attention)
    layers = [share for count, share in shares.layers for _layer in range(count)]
    assert (layers[part] if isinstance(part, int) else getattr(shares, part)) == expected


def test_what_the_draft_takes_from_the_served_model_is_not_counted_twice():
    rows = [("model.layers.2.embed_tokens.weight", "BF16", 10), ("model.layers.2.shared_head.head.weight", "BF16", 10)]
    assert shares_of(rows, 2, MLA).draft == Share()


def test_a_tied_embedding():
    embedding, head = ("model.embed_tokens.weight", "BF16", 10), ("lm_head.weight", "BF16", 10)
    assert shares_of([embedding], 1, GQA).tied
    assert not shares_of([embedding, head], 1, GQA).tied


def test_a_checkpoint_without_tensors():
    assert shares_of([], 3, GQA) == WeightShares(((3, Share()),))
