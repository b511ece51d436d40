# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A model directory: its configuration, the headers of its weights, and whether the engine's user may read it. Private to the collection, may change any time.

Nothing here reads a weight, so that a checkpoint of a terabyte is known within a second. What root reads while it plans, the engine's own user must be
able to read when it starts; a user who does not exist yet may do what everybody may.
"""

from __future__ import annotations

import hashlib
import json
import os
import pwd
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..core.errors import ModelError, ObservationError
from .safetensors import Shard, open_regular, read_shard

_ACCESS_LIST = "system.posix_acl_access"
_READ, _ENTER = 4, 1


@dataclass(frozen=True)
class Reader:
    """A user by name; `uid` is None while there is no such user."""

    name: str
    uid: int | None
    groups: frozenset[int]

    @classmethod
    def named(cls, name: str) -> Reader:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            return cls(name, None, frozenset())
        return cls(name, entry.pw_uid, frozenset(os.getgrouplist(name, entry.pw_gid)))

    def may(self, mode: int, uid: int, gid: int, right: int) -> bool:
        """By the mode alone, as the kernel goes through it: the first class that a user belongs to counts."""
        if self.uid == 0:
            return True
        shift = 6 if uid == self.uid else 3 if gid in self.groups else 0
        return bool(mode >> shift & right)


def require_readable(paths: Iterable[str], user: str) -> None:
    """Raises ObservationError with the first file, or the first folder on the way to it, that `user` may not read or enter."""
    reader = Reader.named(user)
    known: dict[str, bool] = {}
    for path in paths:
        for step in _way(path):
            if step not in known:
                known[step] = _is_open(step, reader)
            if not known[step]:
                raise ObservationError(_sentence(step, path, reader))


def _way(path: str) -> list[str]:
    """The folders on the way to a file and the file, as it is named and as its links lead to it."""
    steps: list[str] = []
    for way in (os.path.abspath(path), os.path.realpath(path)):
        parts = way.split("/")
        steps += ["/".join(parts[:count]) or "/" for count in range(1, len(parts) + 1)]
    return list(dict.fromkeys(steps))


def _is_open(step: str, reader: Reader) -> bool:
    """A step with an access list of its own counts as open: its mode does not tell."""
    status = os.stat(step)
    right = _ENTER if stat.S_ISDIR(status.st_mode) else _READ
    return reader.may(status.st_mode, status.st_uid, status.st_gid, right) or _has_access_list(step)


def _has_access_list(step: str) -> bool:
    try:
        return _ACCESS_LIST in os.listxattr(step)
    except OSError:  # a file system without any
        return False


def _sentence(step: str, path: str, reader: Reader) -> str:
    mode = stat.S_IMODE(os.stat(step).st_mode)
    return (
        f"{path} cannot be read by the user {reader.name}: {step} has the mode {mode:04o}. A path that the engine's own user can read was expected; "
        "give others the right to read the files and to enter the folders (chmod a+rX), or put the model elsewhere."
    )


_INDEX = "model.safetensors.index.json"
# What the engine reads beside the weights: tokenizer, code and templates of the checkpoint.
_READ_BESIDE = (".json", ".py", ".model", ".jinja")
_JSON_MAX_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True)
class ModelDirectory:
    """What a directory says of itself. `identity` changes when the checkpoint changes; `files` are the paths of all that the engine must read."""

    config: dict[str, Any]
    quant_config: dict[str, Any] | None
    shards: tuple[Shard, ...]
    identity: str
    files: tuple[str, ...]


def read_model_directory(path: str) -> ModelDirectory:
    """Reads config.json, hf_quant_config.json, the index and every shard's header; raises ModelError with a sentence."""
    if not os.path.isdir(path):
        seen = "is a file" if os.path.exists(path) else "does not exist"
        raise ModelError(
            f"The model directory {path} {seen}; expected a directory with config.json and .safetensors files. "
            f"Download the model there, or correct inference_model_path."
        )
    try:
        return _read(path)
    except PermissionError as denied:
        raise ModelError(
            f"{denied.filename} cannot be read: permission denied. Run as a user who may read the model, for example with become."
        ) from denied
    except OSError as failed:
        raise ModelError(
            f"The model directory {path} cannot be read: {failed.strerror} ({failed.filename}). Look at its file system."
        ) from failed


def _read(path: str) -> ModelDirectory:
    digest = hashlib.sha256()
    config = _json_file(path, "config.json", digest)
    if config is None:
        raise ModelError(
            f"The model directory {path} has no config.json; expected a downloaded checkpoint. Download the model there, or correct inference_model_path."
        )
    quant_config = _json_file(path, "hf_quant_config.json", digest)
    index = _json_file(path, _INDEX, digest)
    shards = tuple(read_shard(os.path.join(path, name)) for name in _shard_names(path, index))
    for shard in shards:
        digest.update(b"\0%b\0%d\0" % (os.fsencode(shard.name), shard.size_bytes))
        digest.update(shard.header)
    beside = sorted(name for name in os.listdir(path) if name.endswith(_READ_BESIDE))
    paths = (os.path.join(path, name) for name in [*beside, *(shard.name for shard in shards)])
    files = tuple(file for file in paths if os.path.isfile(file))
    return ModelDirectory(config, quant_config, shards, digest.hexdigest(), files)


def _json_file(path: str, name: str, digest: Any) -> dict[str, Any] | None:
    """A JSON dictionary, or None where there is no such file."""
    full = os.path.join(path, name)
    if not os.path.lexists(full):
        return None
    size = os.path.getsize(full)
    if size > _JSON_MAX_BYTES:
        raise ModelError(
            f"{full} is {size:,} bytes long; expected at most {_JSON_MAX_BYTES:,}. It is no {name}: download it again."
        )
    with open_regular(full) as file:
        content = file.read()
    digest.update(f"\0{name}\0".encode())
    digest.update(content)
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as wrong:
        raise ModelError(
            f"{full} is not valid JSON ({str(wrong)[:80]}). It is truncated or damaged: download it again."
        ) from wrong
    if not isinstance(data, dict):
        raise ModelError(f"{full} holds no JSON dictionary. It is damaged: download it again.")
    return data


def _shard_names(path: str, index: dict[str, Any] | None) -> list[str]:
    """The weight files: those that the index names, else every .safetensors file but a consolidated copy."""
    there = sorted(name for name in os.listdir(path) if name.endswith(".safetensors"))
    if index is None:
        return [name for name in there if not name.startswith("consolidated")]
    weight_map = index.get("weight_map")
    if (
        not isinstance(weight_map, dict)
        or not weight_map
        or not all(isinstance(name, str) for name in weight_map.values())
    ):
        raise ModelError(
            f"{os.path.join(path, _INDEX)} has no weight_map from tensors to files. It is damaged: download it again."
        )
    named = sorted(set(weight_map.values()))
    outside = next((name for name in named if os.path.basename(name) != name), None)
    if outside is not None:
        raise ModelError(
            f"{os.path.join(path, _INDEX)} names the file {outside[:80]!r}; expected names of files beside it. It is damaged: download it again."
        )
    absent = [name for name in named if name not in there]
    if absent:
        more = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
        raise ModelError(
            f"{os.path.join(path, _INDEX)} names {len(named)} files, of which {absent[0][:80]}{more} "
            f"{'are' if more else 'is'} missing. The download is incomplete: resume it."
        )
    return named
