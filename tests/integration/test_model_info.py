# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""model_info as Ansible runs it."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.blackwell.inference.tests.integration.action_process import run_action
from ansible_collections.blackwell.inference.tests.integration.module_process import run_module

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 512,
    "max_position_embeddings": 2048,
    "torch_dtype": "bfloat16",
}


def shard(path: Path, tensors: dict[str, int]) -> None:
    header: dict[str, Any] = {}
    start = 0
    for name, size in tensors.items():
        header[name] = {"dtype": "BF16", "shape": [size // 2], "data_offsets": [start, start + size]}
        start += size
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(start))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "tiny-llama"
    path.mkdir()
    (path / "config.json").write_text(json.dumps(CONFIG))
    shard(path / "model.safetensors", {"model.embed_tokens.weight": 65536, "model.norm.weight": 128})
    return path


def run(**arguments: Any) -> dict[str, Any]:
    return run_module(
        "model_info", {key: str(value) if isinstance(value, Path) else value for key, value in arguments.items()}, {}
    )


def test_a_directory(model: Path) -> None:
    result = run(path=model)
    assert result["changed"] is False
    found = result["model"]
    assert len(found.pop("identity")) == 64
    shares = found["weights"].pop("shares")
    assert shares["layers"] == [{"count": 2}]
    assert (shares["first"], shares["last"]) == ({"attention_bytes": 65536}, {"replicated_bytes": 128})
    assert found == {
        "name": "tiny-llama",
        "architecture": "LlamaForCausalLM",
        "model_type": "llama",
        "quantization": None,
        "dtype": "bfloat16",
        "kv_cache_dtype": "bfloat16",
        "layers": 2,
        "hidden_size": 64,
        "vocab_size": 512,
        "max_position_embeddings": 2048,
        "multimodal": False,
        "experts": None,
        "draft_layers": 0,
        "vision_rotary_dim": None,
        "vision_layers": None,
        "vision_width": None,
        "attention": {"kind": "gqa", "heads": 4, "kv_heads": 2, "head_dim": 16, "v_head_dim": 16},
        "weights": {
            "total_bytes": 65664,
            "files": 1,
            "tensors": 2,
            "by_dtype": {"BF16": 65664},
            "replicated_bytes": 128,
            "per_rank_bytes": None,
            "per_rank_tp": None,
            "source": "safetensors",
        },
        "sources": {
            "attention": "config.json",
            "kv_cache_dtype": "dtype of config.json",
            "layers": "config.json",
            "max_position_embeddings": "config.json",
            "quantization": "config.json",
            "weights": "safetensors",
        },
    }


def test_what_it_returns_is_what_memory_plan_takes(model: Path) -> None:
    found = run(path=model)["model"]
    task = {
        "hardware": {"gpus": 0, "ram_gib": 16},
        "model": found,
        "engine_version": "0.5.23",
        "serving": {"device": "cpu", "max_total_tokens": 1000, "host_reserve_gib": 1},
    }
    planned = run_action("memory_plan", task)["plan"]
    assert planned["model"] == {"name": "tiny-llama", "identity": found["identity"]}
    assert planned["start"]["weights_bytes"] == 65664


def test_a_profile_comes_back_as_it_was(model: Path) -> None:
    found = run(path=model)["model"]
    assert run(profile=found)["model"] == found


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: (path / "config.json").unlink(), "has no config.json; expected a downloaded checkpoint"),
        (lambda path: (path / "config.json").write_text("{"), "is not valid JSON"),
        (lambda path: (path / "model.safetensors").write_bytes(b"123"), "model.safetensors is 3 bytes long"),
        (
            lambda path: (path / "model.safetensors.index.json").write_text('{"weight_map": {"a": "b.safetensors"}}'),
            "names 1 files, of which b.safetensors is missing",
        ),
        (
            lambda path: (path / "config.json").write_text(json.dumps({**CONFIG, "num_attention_heads": 0})),
            "num_attention_heads is 0; expected a whole number from 1 to 65,536",
        ),
    ],
    ids=["no config", "cut-off config", "cut-off weights", "missing shard", "no heads"],
)
def test_a_spoilt_directory(model: Path, spoil: Any, words: str) -> None:
    spoil(model)
    result = run(path=model)
    assert result["failed"] is True
    assert words in result["msg"]


def test_a_directory_that_the_engines_user_cannot_read(model: Path) -> None:
    model.chmod(0o700)
    result = run(path=model, reader="no-such-user")
    assert result["failed"]
    assert result["msg"].startswith(f"{model}/config.json cannot be read by the user no-such-user: /")
    assert not run(path=model, reader="root").get("failed")


def test_no_directory(tmp_path: Path) -> None:
    assert f"The model directory {tmp_path}/none does not exist" in run(path=tmp_path / "none")["msg"]


def test_an_incomplete_profile() -> None:
    assert (
        run(profile={"name": "x"})["msg"]
        == "The profile's model: architecture is missing; expected a text: see the ModelSpec in docs/interface.md."
    )


@pytest.mark.parametrize("arguments", [{}, {"path": "/x", "profile": {"name": "x"}}], ids=["neither", "both"])
def test_one_of_the_two(arguments: dict[str, Any]) -> None:
    assert run(**arguments)["failed"] is True
