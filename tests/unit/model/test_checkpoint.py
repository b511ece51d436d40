# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Model directories: whole ones, and those of a download that went wrong."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import ModelError
from ansible_collections.blackwell.inference.plugins.module_utils.model.checkpoint import read_model_directory
from ansible_collections.blackwell.inference.plugins.module_utils.model.safetensors import Tensor, read_shard

CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama"}


def shard(path: Path, tensors: dict[str, tuple[str, int]], metadata: bool = True) -> None:
    """A safetensors file of zeros."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}} if metadata else {}
    start = 0
    for name, (dtype, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": [size], "data_offsets": [start, start + size]}
        start += size
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(start))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Two shards and their index."""
    path = tmp_path / "tiny"
    path.mkdir()
    (path / "config.json").write_text(json.dumps(CONFIG))
    shard(path / "model-00001-of-00002.safetensors", {"a.weight": ("BF16", 64), "norm.weight": ("F32", 16)})
    shard(path / "model-00002-of-00002.safetensors", {"b.weight": ("BF16", 32)}, metadata=False)
    names = {"a.weight": 1, "norm.weight": 1, "b.weight": 2}
    weight_map = {name: f"model-0000{number}-of-00002.safetensors" for name, number in names.items()}
    (path / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": 112}, "weight_map": weight_map})
    )
    return path


def refusal(path: Path) -> str:
    with pytest.raises(ModelError) as refused:
        read_model_directory(str(path))
    return str(refused.value)


def test_a_whole_directory(model):
    found = read_model_directory(str(model))
    assert found.config == CONFIG
    assert found.quant_config is None
    assert [one.name for one in found.shards] == [
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
    ]
    assert found.shards[0].tensors == (Tensor("a.weight", "BF16", 64), Tensor("norm.weight", "F32", 16))


def test_identity_follows_the_checkpoint_and_nothing_else(model):
    first = read_model_directory(str(model)).identity
    (model / "README.md").write_text("hello")
    os.utime(model / "config.json", (0, 0))
    assert read_model_directory(str(model)).identity == first
    shard(model / "model-00002-of-00002.safetensors", {"b.weight": ("F16", 32)}, metadata=False)
    assert read_model_directory(str(model)).identity != first


def test_a_quantisation_file_is_read_and_counts(model):
    first = read_model_directory(str(model)).identity
    (model / "hf_quant_config.json").write_text('{"quantization": {"quant_algo": "NVFP4"}}')
    found = read_model_directory(str(model))
    assert found.quant_config == {"quantization": {"quant_algo": "NVFP4"}}
    assert found.identity != first


def test_files_that_the_index_does_not_name_are_left_aside(model):
    shard(model / "consolidated.safetensors", {"x": ("BF16", 8)})
    assert len(read_model_directory(str(model)).shards) == 2


def test_without_an_index_every_file_counts_but_a_consolidated_copy(model):
    (model / "model.safetensors.index.json").unlink()
    shard(model / "consolidated.safetensors", {"x": ("BF16", 8)})
    assert len(read_model_directory(str(model)).shards) == 2


def test_a_directory_without_weights(model):
    for path in model.glob("model*"):
        path.unlink()
    assert read_model_directory(str(model)).shards == ()


def test_no_directory(tmp_path):
    assert refusal(tmp_path / "no") == (
        f"The model directory {tmp_path}/no does not exist; expected a directory with config.json and .safetensors files. "
        "Download the model there, or correct inference_model_path."
    )


def test_a_file_instead(tmp_path):
    (tmp_path / "model").write_text("")
    assert refusal(tmp_path / "model").startswith(
        f"The model directory {tmp_path}/model is a file; expected a directory"
    )


def test_no_config(model):
    (model / "config.json").unlink()
    assert refusal(model) == (
        f"The model directory {model} has no config.json; expected a downloaded checkpoint. Download the model there, or correct inference_model_path."
    )


@pytest.mark.parametrize("name", ["config.json", "hf_quant_config.json", "model.safetensors.index.json"])
def test_json_that_is_cut_off(model, name):
    (model / name).write_text('{"a": 1')
    assert refusal(model) == (
        f"{model}/{name} is not valid JSON (Expecting ',' delimiter: line 1 column 8 (char 7)). It is truncated or damaged: download it again."
    )


def test_json_that_is_no_dictionary(model):
    (model / "config.json").write_text("[]")
    assert refusal(model) == f"{model}/config.json holds no JSON dictionary. It is damaged: download it again."


def test_a_missing_shard(model):
    (model / "model-00002-of-00002.safetensors").unlink()
    assert refusal(model) == (
        f"{model}/model.safetensors.index.json names 2 files, of which model-00002-of-00002.safetensors is missing. The download is incomplete: resume it."
    )
    (model / "model-00001-of-00002.safetensors").unlink()
    assert "of which model-00001-of-00002.safetensors and 1 more are missing." in refusal(model)


@pytest.mark.parametrize("index", [{}, {"weight_map": {}}, {"weight_map": [1]}, {"weight_map": {"a": 1}}])
def test_an_index_without_a_map(model, index):
    (model / "model.safetensors.index.json").write_text(json.dumps(index))
    assert (
        refusal(model)
        == f"{model}/model.safetensors.index.json has no weight_map from tensors to files. It is damaged: download it again."
    )


def test_a_truncated_shard(model):
    path = model / "model-00001-of-00002.safetensors"
    whole = path.stat().st_size
    os.truncate(path, whole - 1)
    assert refusal(model) == (
        f"{path} is {whole - 1} bytes long; its header lists tensors up to byte {whole}. It is truncated: download it again."
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"",
            "is 0 bytes long; a safetensors file starts with 8 bytes that say how long its header is. It is truncated: download it again.",
        ),
        (
            b"1234567",
            "is 7 bytes long; a safetensors file starts with 8 bytes that say how long its header is. It is truncated: download it again.",
        ),
        (
            struct.pack("<Q", 1 << 63),
            "announces a header of 9,223,372,036,854,775,808 bytes; expected 2 to 100,000,000. It is no safetensors file or is damaged: download it again.",
        ),
        (
            struct.pack("<Q", 500) + b"{}",
            "is 10 bytes long and announces a header of 500 bytes. It is truncated: download it again.",
        ),
        (
            struct.pack("<Q", 2) + b"[]",
            "is no JSON dictionary; expected one entry for each tensor. The file is damaged: download it again.",
        ),
        (
            struct.pack("<Q", 2) + b"\xff\xff",
            "is no JSON dictionary; expected one entry for each tensor. The file is damaged: download it again.",
        ),
    ],
)
def test_headers_that_cannot_be(tmp_path, content, message):
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    with pytest.raises(ModelError) as refused:
        read_shard(str(path))
    assert str(refused.value).endswith(message)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize(
    "entry",
    [
        None,
        7,
        {},
        {"data_offsets": None},
        {"data_offsets": [1]},
        {"data_offsets": [2, 1]},
        {"data_offsets": [-1, 1]},
        {"data_offsets": [0, True]},
        {"data_offsets": ["0", "1"]},
    ],
)
def test_offsets_that_cannot_be(tmp_path, entry):
    path = tmp_path / "x.safetensors"
    text = json.dumps({"a": entry}).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(8))
    with pytest.raises(ModelError, match=r"gives the tensor a the data_offsets .*; expected two rising byte offsets\."):
        read_shard(str(path))


@given(st.binary(max_size=200), st.booleans())
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_a_shard_or_a_sentence(tmp_path, content, framed):
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", len(content)) + content if framed else content)
    sentence = ""
    try:
        read_shard(str(path))
    except ModelError as refused:
        sentence = str(refused)
    assert sentence == "" or sentence.endswith("download it again.")


def test_a_model_that_may_not_be_read(model, monkeypatch):
    """Tests run as root, which may read everything: the kernel's answer is put in its mouth."""

    def denied(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "listdir", denied)
    assert (
        refusal(model)
        == f"{model} cannot be read: permission denied. Run as a user who may read the model, for example with become."
    )
