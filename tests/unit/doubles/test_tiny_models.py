# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tiny models: the same bytes each time, and safetensors files that hold what their index says."""

from __future__ import annotations

import importlib.util
import json
import struct
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "engine" / "tiny_models.py"
BYTES = {"BF16": 2, "F32": 4}


@pytest.fixture(scope="module")
def tiny_models() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tiny_models", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def header(path: Path) -> tuple[dict[str, Any], int]:
    """The header of a safetensors file and the bytes that follow it."""
    with path.open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        return json.loads(file.read(size)), path.stat().st_size - 8 - size


@pytest.mark.parametrize("name", ["tiny-llama", "tiny-deepseek"])
def test_shards_hold_what_the_index_says(tiny_models: ModuleType, tmp_path: Path, name: str) -> None:
    model = tiny_models.make(name, tmp_path)
    index = json.loads((model / "model.safetensors.index.json").read_text())
    found: dict[str, str] = {}
    total = 0
    for shard in sorted(model.glob("*.safetensors")):
        tensors, body = header(shard)
        del tensors["__metadata__"]
        ends = [0]
        for tensor, entry in tensors.items():
            count = 1
            for size in entry["shape"]:
                count *= size
            begin, end = entry["data_offsets"]
            assert (tensor, begin, end - begin) == (tensor, ends[-1], count * BYTES[entry["dtype"]])
            ends.append(end)
            found[tensor] = shard.name
        assert ends[-1] == body
        total += body
    assert found == index["weight_map"]
    assert total == index["metadata"]["total_size"]


def test_a_model_is_the_same_bytes_each_time(tiny_models: ModuleType, tmp_path: Path) -> None:
    first, second = tiny_models.make("tiny-llama", tmp_path / "a"), tiny_models.make("tiny-llama", tmp_path / "b")
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in second.iterdir())
    assert all((first / name).read_bytes() == (second / name).read_bytes() for name in names)


def test_an_unknown_model_is_refused(tiny_models: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="tiny-gpt"):
        tiny_models.main([str(tmp_path), "tiny-gpt"])
