# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A checkpoint's bytes by how the engine divides them over ranks. Private to the collection, may change any time.

Enough to size any number of ranks and stages without the tensors' names: headers are read once, plans are made often.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ..core.fields import Fields

_MAX_BYTES = 1 << 60
_MAX_LAYERS = 10_000
_MAX_HEADS = 65_536
_SIZES = ("replicated_bytes", "tensor_bytes", "attention_bytes", "kv_bytes")


@dataclass(frozen=True)
class Share:
    """Bytes by divisor. `kv_heads` is how many parts `kv_bytes` can be cut into: with more ranks each keeps one whole head."""

    replicated_bytes: int = 0  # whole on every rank
    tensor_bytes: int = 0  # divided by tp: experts and dense layers, whatever the expert parallel size
    attention_bytes: int = 0  # divided by the ranks of one data parallel group
    kv_bytes: int = 0
    kv_heads: int = 0

    def rank_bytes(self, tp: int, attention_tp: int) -> int:
        """What the fullest rank holds."""
        parts = max(1, min(attention_tp, self.kv_heads))
        return (
            self.replicated_bytes
            + -(-self.tensor_bytes // tp)
            + -(-self.attention_bytes // attention_tp)
            + -(-self.kv_bytes // parts)
        )

    @property
    def total_bytes(self) -> int:
        return self.replicated_bytes + self.tensor_bytes + self.attention_bytes + self.kv_bytes

    def as_dict(self) -> dict[str, int]:
        return {field.name: getattr(self, field.name) for field in fields(self) if getattr(self, field.name)}

    @classmethod
    def from_dict(cls, data: Fields) -> Share:
        sizes = {name: data.optional_whole(name, 0, _MAX_BYTES) or 0 for name in _SIZES}
        return cls(**sizes, kv_heads=data.optional_whole("kv_heads", 0, _MAX_HEADS) or 0)


@dataclass(frozen=True)
class WeightShares:
    """`layers`: (how many, what each holds), in order. `first` and `last`: what the first and last pipeline stage hold besides; `every`: each stage.

    `draft` are the layers for multi-token prediction, which the served model leaves unloaded. `tied`: the last stage needs
    the embedding too.
    """

    layers: tuple[tuple[int, Share], ...]
    first: Share = Share()
    last: Share = Share()
    every: Share = Share()
    draft: Share = Share()
    tied: bool = False

    def stage_bytes(self, stage: int, stages: Sequence[int], tp: int, attention_tp: int) -> int:
        """What the fullest rank of a stage holds; `stages` says how many layers each stage has."""
        start = sum(stages[:stage])
        held = sum(
            share.rank_bytes(tp, attention_tp) * count for count, share in self._between(start, start + stages[stage])
        )
        here = [self.every]
        if stage == 0:
            here.append(self.first)
        if stage == len(stages) - 1:
            here += [self.last] + ([self.first] if self.tied and stage else [])
        return held + sum(share.rank_bytes(tp, attention_tp) for share in here)

    def _between(self, start: int, end: int) -> Iterable[tuple[int, Share]]:
        at = 0
        for count, share in self.layers:
            yield max(0, min(end, at + count) - max(start, at)), share
            at += count

    def as_dict(self) -> dict[str, Any]:
        return {
            "layers": [{"count": count, **share.as_dict()} for count, share in self.layers],
            "first": self.first.as_dict(),
            "last": self.last.as_dict(),
            "every": self.every.as_dict(),
            "draft": self.draft.as_dict(),
            "tied": self.tied,
        }

    @classmethod
    def from_dict(cls, data: Fields) -> WeightShares:
        parts = {
            name: Share.from_dict(data.within(name)) if data.data.get(name) else Share()
            for name in ("first", "last", "every", "draft")
        }
        rows = data.rows("layers", f"a layer in {data.where}")
        layers = tuple((row.whole("count", 1, _MAX_LAYERS), Share.from_dict(row)) for row in rows)
        return cls(layers, **parts, tied=data.flag("tied") if data.has("tied") else False)


def run_lengths(layers: Iterable[Share]) -> tuple[tuple[int, Share], ...]:
    runs: list[tuple[int, Share]] = []
    for share in layers:
        if runs and runs[-1][1] == share:
            runs[-1] = (runs[-1][0] + 1, share)
        else:
            runs.append((1, share))
    return tuple(runs)
