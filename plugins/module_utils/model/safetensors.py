# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The header of a safetensors file, read without its weights. Private to the collection, may change any time."""

from __future__ import annotations

import json
import os
import stat
import struct
from dataclasses import dataclass
from typing import Any, BinaryIO

from ..core.errors import ModelError

_LENGTH_BYTES = 8
_HEADER_MAX_BYTES = 100_000_000  # the format's own limit


@dataclass(frozen=True)
class Tensor:
    name: str
    dtype: str
    size_bytes: int


@dataclass(frozen=True)
class Shard:
    """One file: its whole size, the raw header, and what the header lists."""

    name: str
    size_bytes: int
    header: bytes
    tensors: tuple[Tensor, ...]


def read_shard(path: str) -> Shard:
    """Reads the header and compares what it lists with the file's size; a file that cannot be whole is refused."""
    name = os.path.basename(path)
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        start = file.read(_LENGTH_BYTES)
        if len(start) < _LENGTH_BYTES:
            raise ModelError(
                f"{path} is {size} bytes long; a safetensors file starts with {_LENGTH_BYTES} bytes that say "
                f"how long its header is. It is truncated: download it again."
            )
        (length,) = struct.unpack("<Q", start)
        if length > _HEADER_MAX_BYTES or length < 2:
            raise ModelError(
                f"{path} announces a header of {length:,} bytes; expected 2 to {_HEADER_MAX_BYTES:,}. It is no "
                f"safetensors file or is damaged: download it again."
            )
        if _LENGTH_BYTES + length > size:
            raise ModelError(
                f"{path} is {size:,} bytes long and announces a header of {length:,} bytes. It is truncated: download it again."
            )
        header = file.read(length)
    tensors, data_bytes = _tensors(path, header)
    whole = _LENGTH_BYTES + length + data_bytes
    if size < whole:
        raise ModelError(
            f"{path} is {size:,} bytes long; its header lists tensors up to byte {whole:,}. It is truncated: download it again."
        )
    return Shard(name, size, header, tuple(tensors))


def open_regular(path: str) -> BinaryIO:
    """The file opened for reading. A pipe or a device of that name would never answer, and is refused."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ModelError(
            f"{path} is no regular file; expected one of a downloaded checkpoint. Download the model again."
        )
    return open(path, "rb")


def _tensors(path: str, header: bytes) -> tuple[list[Tensor], int]:
    """(tensors in the header's order, where the last of them ends)."""
    try:
        listed: Any = json.loads(header, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        listed = None
    if not isinstance(listed, dict):
        raise ModelError(
            f"The header of {path} is no JSON dictionary; expected one entry for each tensor. The file is damaged: download it again."
        )
    tensors: list[Tensor] = []
    end = 0
    for name, entry in listed.items():
        if name == "__metadata__":
            continue
        first, last = _offsets(path, name, entry)
        tensors.append(Tensor(name, str(entry.get("dtype"))[:16], last - first))
        end = max(end, last)
    listed_bytes = sum(tensor.size_bytes for tensor in tensors)
    if listed_bytes != end:
        raise ModelError(
            f"The header of {path} lists tensors of {listed_bytes:,} bytes in the first {end:,} bytes; expected one behind the other without a gap. "
            "The file is damaged: download it again."
        )
    return tensors, end


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A dictionary; a name that stands there twice would hide a tensor."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name stands there twice")
    return made


def _offsets(path: str, name: str, entry: dict[str, Any]) -> tuple[int, int]:
    offsets: Any = entry.get("data_offsets") if isinstance(entry, dict) else None
    pair = (
        isinstance(offsets, list)
        and len(offsets) == 2
        and all(isinstance(offset, int) and not isinstance(offset, bool) for offset in offsets)
    )
    if not pair or not 0 <= offsets[0] <= offsets[1]:
        raise ModelError(
            f"The header of {path} gives the tensor {name[:80]} the data_offsets {str(offsets)[:60]}; "
            "expected two rising byte offsets. The file is damaged: download it again."
        )
    return offsets[0], offsets[1]
