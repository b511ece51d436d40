# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a token costs, as counted and as stored."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.model.attention import GqaGeometry, MlaGeometry
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.token_cost import (
    counted_bytes,
    indexer_bytes,
    stored_bytes,
    stored_latent,
)
from ansible_collections.blackwell.inference.tests.unit.planning.device.pool_cases import rules_of

MLA = MlaGeometry(512, 64, 64)
DSA = MlaGeometry(512, 64, 128, 128)
QWEN3_5 = GqaGeometry(16, 2, 256, 256)
MIMO = GqaGeometry(64, 4, 192, 128)


@pytest.mark.parametrize(
    ("geometry", "layers", "tp", "dtype", "version", "counted", "stored"),
    [
        pytest.param(MLA, 61, 8, "bfloat16", "0.5.5", 576 * 61 * 2, 70272, id="Kimi-K2.5, bf16: no division by tp"),
        pytest.param(MLA, 61, 1, "fp8_e4m3", "0.5.23", 35136, 35136, id="Kimi-K2.5, fp8"),
        pytest.param(
            MLA,
            61,
            8,
            "fp4_e2m1",
            "0.5.9",
            35136 // 2 + 36 * 61,
            19764,
            id="Kimi-K2.5, fp4: halves and a byte for each 16",
        ),
        pytest.param(
            QWEN3_5,
            15,
            8,
            "bfloat16",
            "0.5.9",
            15360,
            15360,
            id="Qwen3.5-397B: one whole head where there are 2 on 8 ranks",
        ),
        pytest.param(QWEN3_5, 15, 8, "fp8_e4m3", "0.5.9", 7680, 7680, id="Qwen3.5-397B, fp8"),
        pytest.param(
            MIMO,
            1,
            1,
            "bfloat16",
            "0.5.6",
            4 * (192 + 192) * 2,
            4 * (192 + 128) * 2,
            id="values counted like keys up to 0.5.6",
        ),
        pytest.param(
            MIMO,
            1,
            1,
            "bfloat16",
            "0.5.7",
            4 * (192 + 128) * 2,
            4 * (192 + 128) * 2,
            id="values by their own size since 0.5.7",
        ),
        pytest.param(
            QWEN3_5, 4, 1, "fp4_e2m1", "0.5.5", 2 * 512 * 4, 2 * (256 + 32) * 4, id="fp4 counted whole in 0.5.5"
        ),
        pytest.param(
            QWEN3_5,
            4,
            1,
            "fp4_e2m1",
            "0.5.6",
            2 * 512 * 4 // 2 + 2 * 256 * 4 * 2 // 16,
            2304,
            id="fp4 with scales since 0.5.6",
        ),
        pytest.param(
            QWEN3_5,
            4,
            1,
            "fp4_e2m1",
            "0.5.16",
            2304 + 1024,
            2304,
            id="0.5.16 to 0.5.20 count a layer of fp8 to unpack to",
        ),
        pytest.param(QWEN3_5, 4, 1, "nvfp4", "0.5.21", 2304 + 1024, 2304 + 1024, id="nvfp4 has that layer"),
        pytest.param(QWEN3_5, 4, 1, "fp4_mx_block16", "0.5.21", 2304, 2304, id="fp4_mx_block16 has none"),
        pytest.param(QWEN3_5, 4, 1, "mxfp8", "0.5.16", 4096 + 4096 // 32, 4096 + 128, id="mxfp8: a byte for each 32"),
        pytest.param(DSA, 61, 8, "bfloat16", "0.5.7", 61 * (1152 + 132), 61 * 1152, id="DeepSeek-V3.2, bf16"),
        pytest.param(
            DSA, 61, 8, "fp8_e4m3", "0.5.16", 61 * (576 + 132), 61 * 656, id="fp8 latents are stored with scales"
        ),
        pytest.param(DSA, 61, 8, "fp8_e4m3", "0.5.17", 61 * (656 + 132), 61 * 656, id="and counted so since 0.5.17"),
    ],
)
def test_bytes_of_a_token(geometry, layers, tp, dtype, version, counted, stored):
    assert counted_bytes(geometry, layers, tp, dtype, rules_of(version)) == counted
    assert stored_bytes(geometry, layers, tp, dtype) == stored


def test_index_keys():
    assert (indexer_bytes(DSA), indexer_bytes(MLA), indexer_bytes(QWEN3_5)) == (128 + 4, 0, 0)


@pytest.mark.parametrize(
    ("dtype", "raw", "elements"), [("fp8_e4m3", False, 656), ("fp8_e4m3", True, 576), ("bfloat16", False, 576)]
)
def test_latent_rows_of_sparse_attention(dtype, raw, elements):
    assert stored_latent(DSA, dtype, raw) == elements
