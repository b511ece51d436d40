# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was planned beside what a start measured. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Callable

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import gb_text, gib_text

GRAPHS, WEIGHTS, KV_CACHE = ("CUDA graphs", "prefill graph"), "weights", "KV cache"

Show = Callable[[Any], str]


def _counted(noun: str) -> Show:
    return lambda amount: f"{amount:,.0f} {noun}"


def _seconds(amount: float) -> str:
    return f"{amount:,.0f} s"


@dataclass(frozen=True)
class Pair:
    """One figure, planned and measured."""

    what: str
    planned: float
    measured: float
    show: Show

    @property
    def difference(self) -> str:
        """Measured less planned, for example `-17 tokens (-0.01 %)`."""
        gap = self.measured - self.planned
        sign = "+" if gap > 0 else "-" if gap < 0 else ""
        share = (
            f" ({sign}{abs(gap) / self.planned:.2%})".replace("%", "\N{NO-BREAK SPACE}%")
            if gap and self.planned
            else ""
        )
        return f"{sign}{self.show(abs(gap))}{share}" if gap else "none"


def planned_beside_measured(
    plan: Mapping[str, Any], measured: Mapping[str, Any] | None, verdict: Mapping[str, Any] | None = None
) -> tuple[Pair, ...]:
    """Figures that both sides know: `measured` is a calibration, the verdict tells MemAvailable."""
    planned, seen = _planned(plan), _measured(measured or {}, verdict)
    return tuple(
        Pair(what, planned[what], seen[what], show)
        for what, show in _SHOWN.items()
        if planned.get(what) is not None and seen.get(what) is not None
    )


def measured_of_card(measured: Mapping[str, Any]) -> dict[str, int]:
    """Measured bytes of a rank, by the name of the ledger's line; weights only where both figures of the load were logged."""
    return {name: size for name, size in _card_sizes(measured) if size is not None}


def available_seen(verdict: Mapping[str, Any] | None) -> int | None:
    """MemAvailable as the verification saw it."""
    for level in (verdict or {}).get("levels") or ():
        for check in level["checks"]:
            if check["name"] == "MemAvailable" and isinstance(check["seen"], int):
                return int(check["seen"])
    return None


_SHOWN: dict[str, Show] = {
    "free before the weights are loaded": gib_text,
    WEIGHTS: gib_text,
    KV_CACHE: gib_text,
    "graphs": gib_text,
    "free after graph capture": gib_text,
    "tokens of a rank": _counted("tokens"),
    "requests that may run": _counted("requests"),
    "host cache of a rank": gb_text,
    "available on the host": gib_text,
    "start": _seconds,
}


def _planned(plan: Mapping[str, Any]) -> dict[str, Any]:
    gpu, cache = plan.get("gpu") or {}, plan.get("host_cache") or {}
    sizes = {line["name"]: line["size_bytes"] for line in gpu.get("lines") or ()}
    graphs = [sizes[name] for name in GRAPHS if name in sizes]
    return {
        "free before the weights are loaded": gpu.get("base_bytes"),
        WEIGHTS: sizes.get(WEIGHTS),
        KV_CACHE: sizes.get(KV_CACHE, (plan.get("pool") or {}).get("kv_bytes")),
        "graphs": sum(graphs) if graphs else None,
        "free after graph capture": gpu.get("headroom_bytes"),
        "tokens of a rank": (plan.get("pool") or {}).get("tokens"),
        "requests that may run": (plan.get("concurrency") or {}).get("max_running_requests"),
        "host cache of a rank": cache.get("bytes_per_rank") if cache.get("enabled") else None,
        "available on the host": (plan.get("host") or {}).get("available_after_start_bytes"),
        "start": (plan.get("start") or {}).get("estimate_seconds"),
    }


def _measured(measured: Mapping[str, Any], verdict: Mapping[str, Any] | None) -> dict[str, Any]:
    card = measured_of_card(measured)
    return {
        "free before the weights are loaded": measured.get("free_before_load_bytes"),
        WEIGHTS: card.get(WEIGHTS),
        KV_CACHE: card.get(KV_CACHE),
        "graphs": measured.get("graph_bytes"),
        "free after graph capture": measured.get("free_after_graphs_bytes"),
        "tokens of a rank": measured.get("tokens"),
        "requests that may run": measured.get("max_running_requests"),
        "host cache of a rank": measured.get("host_cache_bytes_per_rank"),
        "available on the host": available_seen(verdict),
        "start": measured.get("start_seconds"),
    }


def _card_sizes(measured: Mapping[str, Any]) -> Iterator[tuple[str, int | None]]:
    before, after = measured.get("free_before_load_bytes"), measured.get("free_after_load_bytes")
    yield WEIGHTS, None if before is None or after is None else before - after
    yield KV_CACHE, measured.get("kv_bytes")
    # The log tells one figure for all graphs; it stands where the plan's first graphs stand.
    yield GRAPHS[0], measured.get("graph_bytes")
