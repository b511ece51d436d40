# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checkpoints of any size for the tests: whole headers, and holes instead of weights.

A safetensors file is an 8-byte little-endian header length, the header in JSON, then the tensors' bytes
(github.com/huggingface/safetensors, README, "Format"). What reads headers only cannot tell a hole from weights.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

ELEMENT_BYTES = {"BF16": 2, "F8_E4M3": 1, "I32": 4, "U8": 1, "F32": 4}


def write_shard(path: Path, tensors: dict[str, tuple[str, list[int]]]) -> int:
    """One shard of tensors given as name: (dtype, shape); returns the bytes of its tensors."""
    header: dict[str, Any] = {}
    end = 0
    for name, (dtype, shape) in tensors.items():
        size = ELEMENT_BYTES[dtype]
        for length in shape:
            size *= length
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        os.truncate(file.fileno(), 8 + len(text) + end)
    return end


def write_checkpoint(directory: Path, config: dict[str, Any], shards: int, shard_bytes: int) -> None:
    """A checkpoint of `shards` shards of about `shard_bytes` each, packed as compressed-tensors INT4 is (int32 words)."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    weights: dict[str, str] = {}
    total = 0
    for number in range(1, shards + 1):
        name = f"model-{number:05d}-of-{shards:06d}.safetensors"
        tensor = f"model.layers.{number - 1}.weight_packed"
        total += write_shard(directory / name, {tensor: ("I32", [shard_bytes // 4 // 1024, 1024])})
        weights[tensor] = name
    index = {"metadata": {"total_size": total}, "weight_map": weights}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
