# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the device pools of one rank are sized from, and what they come to. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..model.model_spec import ModelSpec
from .requests import RunningRequests

MTP_ALGORITHMS = ("EAGLE", "NEXTN")
"""Those that the checkpoint's own MTP layers can draft for; the engine calls the latter by the former's name."""


@dataclass(frozen=True)
class Parallelism:
    """`dp` above 1 means attention data parallelism: tp ranks in dp groups, each group with a pool of its own. World size: tp * pp."""

    tp: int = 1
    pp: int = 1
    dp: int = 1

    @property
    def attention_tp(self) -> int:
        return self.tp // self.dp

    @property
    def world(self) -> int:
        return self.tp * self.pp


@dataclass(frozen=True)
class Speculation:
    """`algorithm` as the engine names it, in capitals; `draft` is None where the checkpoint's own MTP layers draft."""

    algorithm: str
    steps: int
    topk: int
    draft_tokens: int
    draft: ModelSpec | None = None


@dataclass(frozen=True)
class PoolWishes:
    """What the operator fixed; None: the engine's default of the version. `max_state_slots` is --max-mamba-cache-size.

    Radix cache, overlap and extra buffer are as they take effect, see `state_scheduling.scheduled`, and so is `chunked_prefill_size`, which
    counts for sliding layers without a radix cache. `raw_latent_rows`: sparse attention by a backend (trtllm, tilelang) whose fp8 rows
    hold no scales.
    """

    page_size: int = 1
    max_total_tokens: int | None = None
    max_running_requests: int | None = None
    swa_full_tokens_ratio: float | None = None
    state_full_memory_ratio: float | None = None
    max_state_slots: int | None = None
    state_dtype: str | None = None
    radix_cache: bool = True
    host_cache: bool = False
    overlap_schedule: bool = True
    state_extra_buffer: bool | None = None
    hybrid_sliding_memory: bool = True
    chunked_prefill_size: int | None = None
    raw_latent_rows: bool = False


@dataclass(frozen=True)
class PoolInputs:
    """One rank's figures when the engine sizes its pools. `free_after_bytes` is after the target's weights alone.

    `draft_weights_bytes` are loaded before the sizing since 0.5.14, after it before that. `reserve_bytes` is what the KV budget loses to multimodal input.
    """

    model: ModelSpec
    parallelism: Parallelism
    kv_cache_dtype: str
    context_length: int
    fraction: float
    free_before_bytes: int
    free_after_bytes: int
    reserve_bytes: int = 0
    speculation: Speculation | None = None
    draft_weights_bytes: int = 0
    wishes: PoolWishes = PoolWishes()


@dataclass(frozen=True)
class Pool:
    """One preallocated buffer of a rank. `kind`: full, sliding, state, indexer or draft; `slots` are tokens, or requests of a state pool.

    Of kind draft_state are the states of tokens that are being verified; their slots are requests. `padding_slots` are allocated
    beside the slots and hold nothing.
    """

    name: str
    kind: str
    slots: int
    slot_bytes: int
    padding_slots: int

    @property
    def size_bytes(self) -> int:
        return (self.slots + self.padding_slots) * self.slot_bytes

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            "slots": self.slots,
            "slot_bytes": self.slot_bytes,
            "size_bytes": self.size_bytes,
        }


@dataclass(frozen=True)
class DevicePools:
    """`tokens` is what the engine logs as max_total_num_tokens, `profiled_tokens` what fitted before caps and pages. 0 tokens: no start.

    `poorest`: of the pipeline stage that decides how many tokens there are.
    """

    tokens: int
    profiled_tokens: int
    requests: RunningRequests
    pools: tuple[Pool, ...]
    poorest: bool = True

    @property
    def size_bytes(self) -> int:
        return sum(pool.size_bytes for pool in self.pools)

    def slots(self, kind: str) -> int:
        """Slots of the pools of this kind, 0 where there is none."""
        return sum(pool.slots for pool in self.pools if pool.kind == kind)
