# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan for one instance. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..core.errors import Refusal
from .choices import Choice
from .device.gpu_budget import GpuBudget, cell_bytes, needed_headroom_bytes
from .device.pools import DevicePools, RunningRequests
from .host.budget import HostBudget
from .host.pools import HostCache
from .request.request import PlanRequest
from .start_estimate import StartEstimate

SCHEMA = 1


@dataclass(frozen=True)
class MemoryPlan:
    """`settings` are the decided values by serving key; `arguments` the same as engine flags with the operator's further ones."""

    request: PlanRequest
    gpu: GpuBudget | None  # None on a CPU
    pools: DevicePools  # of one rank
    host: HostBudget
    pool: HostCache | None
    size_gb_that_fits: int
    start: StartEstimate
    settings: Mapping[str, Any]
    choices: tuple[Choice, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    forced: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        """What the engine logs: of one group with attention data parallelism."""
        return self.pools.tokens

    @property
    def requests(self) -> RunningRequests:
        return self.pools.requests

    @property
    def cell_bytes(self) -> int:
        return cell_bytes(self.pools)

    @property
    def concurrent_requests(self) -> int:
        """Of all groups."""
        return self.tokens // self.request.serving.request_tokens * self.request.serving.dp

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types and no time stamp: the same input gives the same bytes."""
        request, serving, cell = self.request, self.request.serving, self.cell_bytes
        return {
            "schema": SCHEMA,
            "engine": {"version": request.rules.engine_version, "dialect": request.dialect},
            "device": serving.device,
            "ranks": request.ranks,
            "parallel": {"tp": serving.tp, "pp": serving.pp, "dp": serving.dp},
            "model": {"name": request.model.name, "identity": request.model.identity},
            "speculation": self._speculation(),
            "gpu": self._gpu(),
            "host": self.host.as_dict(),
            "host_cache": self._host_cache(),
            "pool": {"tokens": self.tokens, "cell_bytes": cell, "kv_bytes": self.tokens * cell},
            "pools": [pool.as_dict() for pool in self.pools.pools],
            "concurrency": {
                "request_tokens": serving.request_tokens,
                "requests": self.concurrent_requests,
                "max_running_requests": self.requests.limit,
            },
            "choices": [choice.as_dict() for choice in self.choices],
            "start": self.start.as_dict(),
            "arguments": dict(sorted(self.arguments.items())),
            "refusals": [refusal.as_dict() for refusal in self.refusals],
            "forced": list(self.forced),
            "notes": list(self.notes),
            "calibration": asdict(request.calibration) if request.recorded_calibration else None,
            "observation": request.host.as_dict(),
        }

    def _speculation(self) -> dict[str, Any] | None:
        drafting = self.request.speculation
        if drafting is None:
            return None
        draft = drafting.draft
        return {
            "algorithm": drafting.algorithm,
            "steps": drafting.steps,
            "topk": drafting.topk,
            "draft_tokens": drafting.draft_tokens,
            "draft": {"name": draft.name, "identity": draft.identity} if draft else None,
        }

    def _gpu(self) -> dict[str, Any] | None:
        if self.gpu is None:
            return None
        return {
            **self.gpu.as_dict(),
            "cards": [card.index for card in self.request.gpus],
            "headroom_wished_bytes": needed_headroom_bytes(self.request, self.gpu),
        }

    def _host_cache(self) -> dict[str, Any]:
        pool = self.pool
        return {
            "enabled": pool is not None,
            "tokens": pool.tokens if pool else 0,
            "bytes_per_rank": pool.bytes_per_rank if pool else 0,
            "bytes_total": pool.bytes_total if pool else 0,
            "page_size": self.request.page_size,
            "size_gb": pool.size_gb if pool else None,
            "ratio": pool.ratio if pool else None,
            "size_gb_per_rank_that_fits": self.size_gb_that_fits,
            "pools": [one.as_dict() for one in pool.pools] if pool else [],
        }
