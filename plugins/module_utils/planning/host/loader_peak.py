# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host memory that only loading the weights takes. Private to the collection, may change any time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...core.units import GIB, gb_text, gib_to_bytes, ranks_text
from ..fields import is_whole
from ..refusal import Refusal
from ..request import PlanRequest
from .host_budget import HostBudget

_THREADS = 8  # where they are turned on and not counted, 0.5.5 to 0.5.23
_COPIES, _EXTRA = "weight-loader-disable-mmap", "model-loader-extra-config"


def loader_peak_bytes(request: PlanRequest, ranks: int) -> int:
    """Memory of all ranks while shards are read, 0 where they are mapped: pages of a mapped file are dropped when memory runs short.

    Without mapping a rank reads each shard whole and makes tensors of it, so that it is there twice for a moment; several threads read one each
    and one more waits (0.5.9 to 0.5.23). All is given back before the host cache is pinned. Shards count with their mean size.
    """
    weights = request.model.weights
    if not request.arguments.get(_COPIES) or not weights.files:
        return 0
    threads = _threads(request)
    shards = 2 * threads + (1 if threads > 1 else 0)
    return ranks * min(shards * (weights.total_bytes // weights.files), 2 * weights.total_bytes)


def _threads(request: PlanRequest) -> int:
    extra = _extra(request.arguments.get(_EXTRA))
    if extra.get("enable_multithread_load") is False:
        return 1
    default = _THREADS if extra.get("enable_multithread_load") else request.rules.loader_threads
    asked = extra.get("num_threads", default)
    return max(1, int(asked)) if default > 1 and is_whole(asked) else default


def _extra(value: Any) -> Mapping[str, Any]:
    """The flag's JSON; what cannot be read is the engine's to refuse."""
    try:
        read = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return {}
    return read if isinstance(read, Mapping) else {}


def loader_refusal(request: PlanRequest, ranks: int, bare: HostBudget) -> Refusal | None:
    """Whether loading alone asks for more than the host has beside the engine's processes."""
    peak = loader_peak_bytes(request, ranks)
    if peak <= max(0, bare.ledger.left_bytes - bare.reserve_bytes):
        return None
    return Refusal(
        "host_memory",
        f"arguments has {_COPIES}, with which {ranks_text(ranks)} hold about {gb_text(peak)} of shards while they load; this host has "
        f"{gb_text(bare.ledger.left_bytes)} beside the engine's processes, and host_reserve_gib {request.serving.host_reserve_gib:g} keeps "
        f"{gb_text(gib_to_bytes(request.serving.host_reserve_gib))}. Remove {_COPIES}, or set {_EXTRA} to "
        "'{\"enable_multithread_load\": false}'.",
    )


def loader_note(request: PlanRequest, ranks: int) -> str | None:
    peak = loader_peak_bytes(request, ranks)
    if peak < GIB:
        return None
    return f"While the weights are loaded, {_COPIES} takes about {gb_text(peak)} more; it is given back before the host cache is pinned."
