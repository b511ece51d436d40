# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a start taught: figures for the next plan. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any

from ..sglang.start_log import Rank
from .evidence import StartReading
from .planned import Planned


def calibration_of(planned: Planned, engine_version: str, reading: StartReading) -> dict[str, Any] | None:
    """Figures of one start, the same whenever they are read; None when the journal does not hold a whole start.

    Memory is the poorest rank's, as the engine itself takes the minimum. Figures that a CPU has not are left out.
    """
    start = reading.journal
    if not start.fired_up or start.totals is None or reading.fired_up is None or reading.started is None:
        return None
    model = planned.plan.get("model") or {}
    day = datetime.fromtimestamp(reading.fired_up / 1e6, timezone.utc).strftime("%Y-%m-%d")
    figures: dict[str, Any] = {
        "schema": 1,
        "measured": f"journal {day}",
        "engine_version": engine_version,
        "model": {"name": model.get("name"), "identity": model.get("identity")},
        "ranks": planned.ranks,
        "tokens": start.totals.tokens,
        "max_running_requests": start.totals.max_running_requests,
        "kv_bytes": _largest(rank.pool.size_bytes for rank in start.ranks if rank.pool),
        "host_cache_bytes_per_rank": _largest(rank.host_pool.size_bytes for rank in start.ranks if rank.host_pool),
        "start_seconds": round((reading.fired_up - reading.started) / 1e6, 1),
    }
    if not planned.on_cpu:
        figures.update(
            free_before_load_bytes=_least(rank.free_before_load_bytes for rank in start.ranks),
            free_after_load_bytes=_least(_free_after_target(rank) for rank in start.ranks),
            draft_weights_bytes=_largest(rank.draft_weights_bytes for rank in start.ranks),
            graph_bytes=_largest(rank.graph_bytes for rank in start.ranks),
            free_after_graphs_bytes=start.free_after_graphs_bytes,
            graph_batch=planned.gpu.get("graph_batch"),
            gpu_memory_total_bytes=_card_bytes(planned),
            arguments=dict(planned.plan["arguments"]),
        )
    return {name: value for name, value in figures.items() if value is not None}


def _free_after_target(rank: Rank) -> int | None:
    """With the target's weights alone: since 0.5.14 a draft is loaded before the pools are sized."""
    if rank.draft_weights_bytes is None or rank.free_before_load_bytes is None or rank.weights_bytes is None:
        return rank.free_after_load_bytes
    return rank.free_before_load_bytes - rank.weights_bytes


def _card_bytes(planned: Planned) -> int | None:
    cards = planned.gpu.get("cards") or ()
    return _least(gpu.get("total_bytes") for gpu in planned.observation.get("gpus") or () if gpu["index"] in cards)


def _largest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def _least(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)
