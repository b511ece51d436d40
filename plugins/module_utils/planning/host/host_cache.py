# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hierarchical cache in host memory: SGLang's L2 pools, a set for every rank. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class HostWishes:
    """What the engine is told of the host cache; a size, in GB of 10^9 for each rank, beats a ratio.

    `mtp_draft`: the checkpoint's own MTP layers draft, whose keys and values newer versions keep in the row of the target.
    """

    size_gb: int | None = None
    ratio: float | None = None
    page_size: int = 1
    mtp_draft: bool = False


@dataclass(frozen=True)
class HostPool:
    """One host pool of one rank. `kind` as in `Pool`: full, sliding, state, indexer or draft; `slots` are tokens, or requests of a state pool.

    `padding_slots` are allocated beside the slots and neither logged nor checked by the engine.
    """

    name: str
    kind: str
    slots: int
    slot_bytes: int
    padding_slots: int = 0

    @property
    def size_bytes(self) -> int:
        """What the engine logs, in GB of 10^9, and checks."""
        return self.slots * self.slot_bytes

    @property
    def allocated_bytes(self) -> int:
        return (self.slots + self.padding_slots) * self.slot_bytes

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "kind": self.kind, "slots": self.slots, "bytes": self.size_bytes}


@dataclass(frozen=True)
class HostCache:
    """All host pools. `stages` holds the pools of one rank for each pipeline stage, and each stage has `tp` ranks.

    `size_gb` or `ratio` is what the engine is told.
    """

    stages: tuple[tuple[HostPool, ...], ...]
    tp: int
    page_size: int
    size_gb: int | None
    ratio: float | None

    @property
    def ranks(self) -> int:
        return len(self.stages) * self.tp

    @property
    def pools(self) -> tuple[HostPool, ...]:
        """The pools of the rank that takes most."""
        return max(self.stages, key=_allocated)

    @property
    def tokens(self) -> int:
        """Slots of the pool that all others follow."""
        return self.pools[0].slots

    @property
    def bytes_per_rank(self) -> int:
        """What the rank that takes most allocates."""
        return _allocated(self.pools)

    @property
    def bytes_total(self) -> int:
        return self.tp * sum(_allocated(stage) for stage in self.stages)


def _allocated(pools: tuple[HostPool, ...]) -> int:
    return sum(pool.allocated_bytes for pool in pools)
