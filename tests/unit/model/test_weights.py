# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The weights of one rank, against what engines reported."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import ModelError
from ansible_collections.blackwell.inference.plugins.module_utils.core.fields import Fields
from ansible_collections.blackwell.inference.plugins.module_utils.core.ledger import Line
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB
from ansible_collections.blackwell.inference.plugins.module_utils.model.config import model_from_config
from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import Weights, model_from_dict
from ansible_collections.blackwell.inference.plugins.module_utils.model.tensor_placement import shares_of
from ansible_collections.blackwell.inference.plugins.module_utils.model.weight_shares import Share, WeightShares
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.gpu_memory import (
    mtp_weights,
    rank_weights,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.parallelism import Parallelism
from ansible_collections.blackwell.inference.tests.unit import checkpoint_outline as outline
from ansible_collections.blackwell.inference.tests.unit.planning.device.pool_cases import rules_of

RULES = rules_of("0.5.9")
MODELS = Path(__file__).parents[2] / "data" / "models"
ROWS = {
    "llama-3.1-8b": outline.dense_rows,
    "qwen3-235b-a22b": outline.qwen3_moe_rows,
    "qwen3-30b-a3b": outline.qwen3_moe_rows,
    "kimi-k2.5": outline.kimi_k25_rows,
    "gpt-oss-120b": outline.gpt_oss_rows,
    "glm-5-fp8": lambda config: outline.deepseek_rows(config, "fp8", "fp8"),
    "deepseek-v3.2": lambda config: outline.deepseek_rows(config, "fp8", "fp8"),
}


@pytest.fixture(scope="module")
def checkpoint():
    """`checkpoint(name)`: the model of that public checkpoint, with the shares of all its tensors."""
    made = {}

    def model(name):
        if name not in made:
            config = json.loads((MODELS / name / "config.json").read_text())
            rows = list(ROWS[name](config))
            read = model_from_config(
                name, config, None, Weights(sum(row[2] for row in rows), 1, "safetensors"), "a", name
            )
            shares = shares_of(rows, read.layers, read.attention)
            made[name] = replace(read, weights=replace(read.weights, shares=shares))
        return made[name]

    return model


@pytest.mark.parametrize(
    ("name", "total_size"),
    [
        ("llama-3.1-8b", 16_060_522_496),
        ("qwen3-235b-a22b", 470_187_269_120),
        ("qwen3-30b-a3b", 61_064_245_248),
    ],
)
def test_the_outline_is_the_checkpoint(checkpoint, name, total_size):
    """metadata.total_size of the published index."""
    assert checkpoint(name).weights.total_bytes == total_size


@pytest.mark.parametrize(
    ("name", "parallelism", "measured_gib", "off"),
    [
        pytest.param("llama-3.1-8b", Parallelism(1), 15.02, 0.005, id="public log of one 24 GB card"),
        pytest.param("qwen3-235b-a22b", Parallelism(16), 27.62, 0.002, id="public log of 16 devices"),
        pytest.param(
            "qwen3-30b-a3b", Parallelism(4, 1, 4), 16.39, 0.03, id="public log, attention on 4 data parallel ranks"
        ),
        pytest.param("kimi-k2.5", Parallelism(8), 72.33, 0.01, id="design host"),
        pytest.param("glm-5-fp8", Parallelism(8), 89.58, 0.01, id="public log of 8 MI355X"),
    ],
)
def test_against_what_engines_reported(checkpoint, name, parallelism, measured_gib, off):
    """The engine's figure is a difference of free memory: it holds workspaces too, so the estimate is a little less, never more."""
    planned = rank_weights(checkpoint(name), parallelism, RULES)
    assert measured_gib * (1 - off) <= planned.size_bytes / GIB <= measured_gib
    assert planned.source == "estimate: safetensors, placed tensor by tensor"


def test_fewer_key_value_heads_than_ranks_keep_one_each(checkpoint):
    shares = checkpoint("qwen3-235b-a22b").weights.shares
    assert [(count, share.kv_heads) for count, share in shares.layers] == [(94, 4)]
    layer = shares.layers[0][1]
    assert layer.rank_bytes(8, 8) - layer.rank_bytes(8, 8) % 1 > layer.total_bytes // 8
    assert layer.kv_bytes == 2 * 4 * 128 * 4096 * 2


def test_mtp_layers_are_counted_apart(checkpoint):
    """DeepSeek-V3.2: 11.5 GB of experts over 8 ranks, no embedding and no head."""
    model = checkpoint("deepseek-v3.2")
    draft = mtp_weights(model, Parallelism(8))
    assert draft is not None
    assert draft.name == "draft weights"
    assert 1.3 < draft.size_bytes / GIB < 1.5
    everything = 8 * (rank_weights(model, Parallelism(8), RULES).size_bytes + draft.size_bytes)
    assert everything > model.weights.total_bytes - 4 * 129280 * 7168 * 2
    assert mtp_weights(checkpoint("llama-3.1-8b"), Parallelism(1)) is None


def test_a_stage_holds_its_layers(checkpoint):
    """Of 61 layers the first is dense, so that the second stage holds 31 of 60 with experts, and the head."""
    model = checkpoint("kimi-k2.5")
    one, two = (rank_weights(model, Parallelism(4, pp), RULES).size_bytes for pp in (1, 2))
    assert one / 2 < two < one / 2 * 1.04


@pytest.mark.parametrize(("version", "fullest"), [("0.5.5", 17), ("0.5.6", 16)])
def test_the_layers_that_remain_weigh_where_the_engine_puts_them(llama, version, fullest):
    """62 layers in 4 stages: 15 each, and the other two on the last stage (0.5.5), or one each on the last two."""
    model = replace(llama, layers=62, weights=Weights(62 * 4000, 1, "safetensors", replicated_bytes=0))
    assert rank_weights(model, Parallelism(4, 4), rules_of(version)).size_bytes == fullest * 1000


@pytest.mark.parametrize(
    ("weights", "parallelism", "expected"),
    [
        pytest.param(
            Weights(800, 1, "profile", per_rank_bytes=120, per_rank_tp=8), Parallelism(8), Line("weights", 120, "profile"), id="measured"
        ),
        pytest.param(
            Weights(800, 1, "profile", per_rank_bytes=120, per_rank_tp=8),
            Parallelism(4),
            Line("weights", 24 + 194, "estimate: profile, 3 % replicated"),
            id="measured with another number of ranks",
        ),
        pytest.param(Weights(800, 1, "profile"), Parallelism(1), Line("weights", 800, "profile"), id="one rank"),
        pytest.param(
            Weights(800, 1, "safetensors", replicated_bytes=80),
            Parallelism(8),
            Line("weights", 170, "estimate: safetensors, replicated by tensor name"),
            id="replicated by name",
        ),
        pytest.param(
            Weights(800, 1, "safetensors", replicated_bytes=80),
            Parallelism(4, 2),
            Line("weights", 170, "estimate: safetensors, replicated by tensor name"),
            id="two stages",
        ),
    ],
)  # fmt: skip
def test_where_no_shares_are_known(llama, weights, parallelism, expected):
    assert rank_weights(replace(llama, weights=weights), parallelism, RULES) == expected


def test_shares_survive_their_dictionary(checkpoint):
    for name in ("qwen3-235b-a22b", "deepseek-v3.2", "gpt-oss-120b"):
        model = checkpoint(name)
        assert model_from_dict(json.loads(json.dumps(model.as_dict()))) == model


def test_shares_of_the_wrong_shape():
    fields = Fields({"layers": [{"count": 0}]}, "shares in x", "see docs", ModelError)
    with pytest.raises(ModelError, match=r"count is 0; expected a whole number from 1 to 10,000: see docs\.$"):
        WeightShares.from_dict(fields)


SHARES = st.builds(Share, *[st.integers(0, 10**9)] * 4, kv_heads=st.integers(1, 64))


@given(
    st.lists(st.tuples(st.integers(1, 9), SHARES), min_size=1, max_size=4),
    SHARES,
    SHARES,
    st.sampled_from([1, 2, 4, 8]),
)
def test_ranks_together_hold_all_and_more_ranks_hold_less_each(layers, first, last, tp):
    shares = WeightShares(tuple(layers), first, last)
    count = sum(number for number, _share in layers)
    whole = shares.stage_bytes(0, (count,), 1, 1)
    each = shares.stage_bytes(0, (count,), tp, tp)
    assert whole <= each * tp
    assert each <= whole + 4 * count
    assert shares.stage_bytes(0, (count,), 2 * tp, 2 * tp) <= each
