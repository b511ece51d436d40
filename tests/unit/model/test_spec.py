# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A model from a profile."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import ModelError
from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import model_from_dict


def test_a_model_is_what_it_was_written_as(kimi, llama):
    for model in (kimi, llama):
        assert model_from_dict(model.as_dict()) == model


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("name", None, "name is nothing; expected a text"),
        ("layers", "61", "layers is the text '61'; expected a whole number from 1 to 10,000"),
        ("multimodal", "no", "multimodal is the text 'no'; expected true or false"),
        ("experts", 0, "experts is 0; expected a whole number from 1 to 100,000"),
        (
            "kv_cache_dtype",
            "int8",
            "kv_cache_dtype is the text 'int8'; expected one of bfloat16, float16, fp8_e4m3, fp8_e5m2",
        ),
    ],
)
def test_a_wrong_field(kimi, key, value, problem):
    with pytest.raises(ModelError) as refused:
        model_from_dict({**kimi.as_dict(), key: value}, "The profile's model")
    assert str(refused.value) == f"The profile's model: {problem}: see the ModelSpec in docs/interface.md."


@pytest.mark.parametrize(
    "key", ["name", "architecture", "layers", "attention", "weights", "multimodal", "max_position_embeddings"]
)
def test_an_incomplete_profile(kimi, key):
    with pytest.raises(ModelError, match=rf"{key}.*see the ModelSpec in docs/interface\.md\.$"):
        model_from_dict({name: value for name, value in kimi.as_dict().items() if name != key})


def test_sizes_of_weights_are_checked_too(kimi):
    data = {**kimi.as_dict(), "weights": {"total_bytes": -1, "files": 1}}
    with pytest.raises(
        ModelError, match=r"^weights in The model given to planning: total_bytes is -1; expected a whole number from 0"
    ):
        model_from_dict(data)
