# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damaged directories: each is a checkpoint or a sentence, never a traceback, never a wait.

Another seed: BLACKWELL_FUZZ_SEED=7 pytest tests/unit/observe/test_absurd_checkpoints.py
"""

from __future__ import annotations

import json
import os
import random
import struct
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import InferenceError, ModelError
from ansible_collections.blackwell.inference.plugins.module_utils.model.checkpoint import read_model_directory
from ansible_collections.blackwell.inference.plugins.module_utils.model.config import model_from_config
from ansible_collections.blackwell.inference.plugins.module_utils.model.safetensors import read_shard
from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import Weights
from ansible_collections.blackwell.inference.tests.unit.mutations import SEED, scrambled, sentence

CONFIG = (Path(__file__).parents[2] / "data" / "models" / "gpt-oss-120b" / "config.json").read_bytes()
SHARD, INDEX = "model-00001-of-00001.safetensors", "model.safetensors.index.json"


def header(tensors: object) -> bytes:
    text = tensors if isinstance(tensors, bytes) else json.dumps(tensors).encode()
    return struct.pack("<Q", len(text)) + text


WHOLE = {
    "config.json": CONFIG,
    "hf_quant_config.json": b'{"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}}',
    INDEX: json.dumps({"weight_map": {"a.weight": SHARD, "b.weight": SHARD}}).encode(),
    SHARD: header(
        {
            "__metadata__": {"format": "pt"},
            "a.weight": {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]},
            "b.weight": {"dtype": "BF16", "shape": [4], "data_offsets": [8, 16]},
        }
    )
    + bytes(16),
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    for name, content in WHOLE.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def read(model: Path) -> None:
    found = read_model_directory(str(model))
    model_from_config("m", found.config, found.quant_config, Weights(1, 1, "x"), found.identity, str(model))


@pytest.mark.parametrize("name", WHOLE)
def test_a_scrambled_file_is_a_checkpoint_or_a_sentence(model, name):
    chance = random.Random(f"{SEED} {name}")
    for number in range(700):
        (model / name).write_bytes(scrambled(WHOLE[name], chance))
        refusal = None
        try:
            read(model)
        except InferenceError as error:
            refusal = error
        except Exception as crash:
            pytest.fail(f"seed {SEED}, {name} {number}: {crash!r}\n{(model / name).read_bytes()!r}")
        assert refusal is None or sentence(refusal), f"seed {SEED}, {name} {number}: {refusal}"


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        pytest.param("config.json", b"[" * 200_000, "is not valid JSON", id="deep nesting"),
        pytest.param("config.json", b'{"architectures": ' + b"9" * 100_000 + b"}", "config.json", id="a number of 100,000 digits"),
        pytest.param("config.json", b"\xff\xfe{}", "is not valid JSON", id="not UTF-8"),
        pytest.param("config.json", b"", "is not valid JSON", id="empty"),
        pytest.param("config.json", b'{"architectures": NaN}', "architectures is nothing; expected a text", id="NaN"),
        pytest.param(INDEX, b'{"weight_map": {"a": "../b.safetensors"}}', "names the file '../b.safetensors'", id="outside"),
        pytest.param(INDEX, b'{"weight_map": {"a": "/etc/passwd"}}', "expected names of files beside it", id="absolute"),
        pytest.param(INDEX, b'{"weight_map": {"a": "x\\u0000.safetensors"}}', "is missing", id="a NUL in a name"),
        pytest.param(SHARD, struct.pack("<Q", 1 << 63), "announces a header of 9,223,372,036,854,775,808", id="2^63"),
        pytest.param(SHARD, header(WHOLE[SHARD][8:-40]), "is no JSON dictionary", id="a header cut off"),
        pytest.param(SHARD, header(b"[" * 100_000), "is no JSON dictionary", id="a deep header"),
        pytest.param(
            SHARD,
            header(b'{"a": {"dtype": "U8", "data_offsets": [0, 1]}, "a": {"dtype": "U8", "data_offsets": [0, 1]}}') + b"0",
            "is no JSON dictionary",
            id="a tensor twice",
        ),
        pytest.param(
            SHARD,
            header({"a": {"dtype": "U8", "data_offsets": [0, 4]}, "b": {"dtype": "U8", "data_offsets": [0, 4]}}) + b"0000",
            "lists tensors of 8 bytes in the first 4 bytes; expected one behind the other without a gap.",
            id="tensors on top of each other",
        ),
        pytest.param(
            SHARD, header({"a": {"dtype": "U8", "data_offsets": [0, 10**30]}}), "It is truncated", id="an offset of 10^30"
        ),
    ],
)  # fmt: skip
def test_files_that_cannot_be(model, name, content, problem):
    (model / name).write_bytes(content)
    with pytest.raises(ModelError) as refused:
        read(model)
    assert problem in str(refused.value)
    assert sentence(refused.value)


@pytest.mark.parametrize("name", ["config.json", SHARD])
def test_a_pipe_is_not_waited_for(model, name):
    (model / name).unlink()
    os.mkfifo(model / name)
    with pytest.raises(ModelError, match=r"is no regular file; expected one of a downloaded checkpoint\. Download"):
        read_model_directory(str(model))


def test_a_link_to_nowhere(model):
    (model / "config.json").unlink()
    (model / "config.json").symlink_to(model / "gone.json")
    with pytest.raises(ModelError, match=r"cannot be read: No such file or directory .*\. Look at its file system\.$"):
        read_model_directory(str(model))


def test_a_name_that_is_no_text(model):
    """File names are bytes; one that is not UTF-8 is hashed as it is."""
    (model / INDEX).unlink()
    strange = os.fsencode(str(model)) + b"/\xff.safetensors"
    with open(strange, "wb") as file:
        file.write(header({}))
    assert len(read_model_directory(str(model)).shards) == 2


def test_a_header_of_the_largest_kind_is_read(tmp_path):
    path = tmp_path / "x.safetensors"
    path.write_bytes(header({f"t{number}": {"dtype": "U8", "data_offsets": [0, 0]} for number in range(5_000)}))
    assert len(read_shard(str(path)).tensors) == 5_000
