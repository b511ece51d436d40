# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is set aside for a draft, and what it stores."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.model.attention import GqaGeometry, MlaGeometry
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.draft_pool import (
    cell_with_draft,
    draft_slot_bytes,
    extra_tokens,
    spare_columns,
    step_tokens,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.parallelism import Speculation
from ansible_collections.blackwell.inference.tests.unit.planning.device.pool_cases import inputs_of, model_of, rules_of

KIMI = model_of(MlaGeometry(512, 64, 64), 61, "KimiK25ForConditionalGeneration")
V32 = model_of(MlaGeometry(512, 64, 128, 128), 61, "DeepseekV32ForCausalLM", draft_layers=1)
DRAFT = model_of(GqaGeometry(64, 8, 128, 128), 5, "DFlashDraftModel")
CELL, KEYS = 61 * (1152 + 132), 61 * 132


@pytest.mark.parametrize(
    ("model", "algorithm", "draft", "version", "cell", "keys", "expected"),
    [
        pytest.param(KIMI, "EAGLE3", DRAFT, "0.5.13", 70272, 0, 70272, id="nothing up to 0.5.13"),
        pytest.param(KIMI, "EAGLE3", DRAFT, "0.5.14", 70272, 0, 70272 + 5 * 1152, id="5 layers like the target's"),
        pytest.param(KIMI, "EAGLE3", DRAFT, "0.5.23", 70272, 0, 70272 + 5 * 1152, id="the same in other steps"),
        pytest.param(V32, "EAGLE", None, "0.5.23", CELL, KEYS, CELL + 1152 + 132, id="an MTP layer has index keys"),
        pytest.param(
            KIMI, "EAGLE", None, "0.5.23", 70272, 0, 70272, id="Kimi has no MTP layers that the engine knows of"
        ),
        pytest.param(KIMI, "NGRAM", None, "0.5.23", 70272, 0, 70272, id="n-grams keep nothing"),
        pytest.param(
            KIMI, "DFLASH", DRAFT, "0.5.11", 70272, 0, -(-70272 * 66 // 61), id="DFLASH as 66 layers of 61, rounded up"
        ),
        pytest.param(
            KIMI, "DFLASH", DRAFT, "0.5.18", 70272, 0, 70272 + 5 * 256 * 2, id="DFLASH by its own bytes since 0.5.18"
        ),
    ],
)
def test_room_for_a_draft(model, algorithm, draft, version, cell, keys, expected):
    drafting = Speculation(algorithm, 3, 1, 4, draft)
    inputs = inputs_of(model, "94", "40", 0.8, 8, speculation=drafting, rules=rules_of(version))
    assert cell_with_draft(cell, keys, keys // 61, 61, inputs) == expected


@pytest.mark.parametrize(
    ("model", "algorithm", "draft", "stored"),
    [
        (KIMI, "EAGLE3", DRAFT, 5 * 256 * 2),
        (V32, "EAGLE", None, 1152 + 132),
        (KIMI, "NGRAM", None, 0),
    ],
)
def test_bytes_that_a_draft_stores(model, algorithm, draft, stored):
    assert (
        draft_slot_bytes(inputs_of(model, "94", "40", 0.8, 8, speculation=Speculation(algorithm, 3, 1, 4, draft)))
        == stored
    )


def test_tokens_beyond_the_budget():
    assert extra_tokens(48, Speculation("EAGLE", 5, 4, 8)) == 48 * 20 + 48 * 8 + 100


@pytest.mark.parametrize(
    ("steps", "topk", "drafts", "page", "tokens"),
    [(3, 1, 4, 1, 4), (5, 4, 8, 1, 20), (3, 1, 4, 64, 4), (5, 4, 8, 64, 2 * 64 * 4)],
)
def test_tokens_of_a_step(steps, topk, drafts, page, tokens):
    """A tree with pages: each branch has its own copy of a started page."""
    assert step_tokens(Speculation("EAGLE", steps, topk, drafts), page) == tokens


@pytest.mark.parametrize(
    ("version", "topk", "page", "columns"),
    [
        pytest.param("0.5.12", 4, 64, 8, id="draft tokens"),
        pytest.param("0.5.13", 4, 64, 2 * 512 - 4, id="0.5.13: two steps of a tree"),
        pytest.param("0.5.13", 1, 64, 8, id="not of a chain"),
        pytest.param("0.5.16", 1, 64, 2 * 8 + 63 - 4, id="0.5.16: of a chain too, and a page"),
        pytest.param("0.5.23", 4, 1, 8, id="pages of one token need none"),
    ],
)
def test_spare_columns(version, topk, page, columns):
    assert spare_columns(Speculation("EAGLE", 5, topk, 8), page, rules_of(version)) == columns
    assert spare_columns(None, page, rules_of(version)) == 0
