# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What SGLang's log says of a start, as frozen values. Private to the collection, may change any time.

GPU figures in the log are GiB labelled GB, host pools are decimal GB (SGLang 0.4.9 to 0.5.23); both are bytes here, as exact as two decimals are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from re import Match

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import gb_to_bytes, gib_to_bytes
from ansible_collections.blackwell.inference.plugins.module_utils.engine.log_lines import Event, events

ONLY_RANK = "TP0"


@dataclass(frozen=True)
class Pool:
    """A KV pool on the GPU. A start with a draft model logs a second, smaller one for it."""

    tokens: int
    size_bytes: int
    figures: int  # how many rounded figures the size was added up from


@dataclass(frozen=True)
class Graph:
    size_bytes: int
    free_bytes: int


@dataclass(frozen=True)
class HostPool:
    """A pool in host memory. Its tokens are logged since 0.5.17."""

    size_bytes: int
    tokens: int | None


@dataclass(frozen=True)
class Rank:
    """What one rank logged; a figure that it did not log is None or missing."""

    name: str
    free_before_load_bytes: int | None = None
    free_after_load_bytes: int | None = None
    weights_bytes: int | None = None
    reserve_bytes: int = 0
    pools: tuple[Pool, ...] = ()
    pool_end_free_bytes: int | None = None
    graphs: tuple[Graph, ...] = ()
    host_pools: tuple[HostPool, ...] = ()

    @property
    def pool(self) -> Pool | None:
        """The target model's pool: a draft has fewer layers, so its pool is never the largest."""
        return max(self.pools, key=lambda pool: pool.size_bytes, default=None)

    @property
    def graph_bytes(self) -> int | None:
        return sum(graph.size_bytes for graph in self.graphs) if self.graphs else None

    @property
    def host_pool(self) -> HostPool | None:
        """The target model's pool in host memory; pools of a draft, an indexer or states come beside it."""
        return max(self.host_pools, key=lambda pool: pool.size_bytes, default=None)


@dataclass(frozen=True)
class Totals:
    """The line in which the first rank sums up."""

    tokens: int
    max_running_requests: int
    context_length: int
    device: str  # gpu or cpu
    free_bytes: int | None


@dataclass(frozen=True)
class StartJournal:
    ranks: tuple[Rank, ...] = ()
    totals: Totals | None = None
    fired_up: bool = False

    @property
    def free_after_graphs_bytes(self) -> int | None:
        """GPU memory left on the poorest rank when the start was over."""
        seen = [rank.graphs[-1].free_bytes for rank in self.ranks if rank.graphs]
        if self.totals and self.totals.device == "gpu" and self.totals.free_bytes is not None:
            seen.append(self.totals.free_bytes)
        return min(seen, default=None)


def parse_start(lines: Iterable[str]) -> StartJournal:
    """Read the lines of one invocation. A start with one rank logs no rank; it is called TP0."""
    by_rank: dict[str, list[Event]] = {}
    totals = None
    fired_up = False
    for event in events(lines):
        if event.name == "totals":
            totals = totals or _totals(event.match)
        elif event.name == "fired_up":
            fired_up = True
        elif event.name in _RANK_EVENTS:
            by_rank.setdefault(event.rank or ONLY_RANK, []).append(event)
    return StartJournal(tuple(_rank(name, found) for name, found in sorted(by_rank.items())), totals, fired_up)


_RANK_EVENTS = frozenset(["weights_begin", "weights_end", "reserve", "pool", "pool_end", "graph", "host_pool"])


def _rank(name: str, found: list[Event]) -> Rank:
    first_pool = next((index for index, event in enumerate(found) if event.name == "pool"), len(found))
    # From 0.5.14 on a draft is loaded before the pools are sized, up to 0.5.13 after: what counts is the last load before the first pool.
    loads = [event.match for event in found[:first_pool] if event.name == "weights_end"]
    named: dict[str, list[Match[str]]] = {}
    for event in found:
        named.setdefault(event.name, []).append(event.match)
    return Rank(
        name=name,
        free_before_load_bytes=_first_gib(named.get("weights_begin", []), "free"),
        free_after_load_bytes=_first_gib(loads[-1:], "free"),
        weights_bytes=_first_gib(loads, "size"),
        reserve_bytes=sum(gib_to_bytes(match.group("size")) for match in named.get("reserve", [])[:1]),
        pools=tuple(_pool(match) for match in named.get("pool", [])),
        pool_end_free_bytes=_first_gib(named.get("pool_end", []), "free"),
        graphs=tuple(
            Graph(gib_to_bytes(match.group("size")), gib_to_bytes(match.group("free")))
            for match in named.get("graph", [])
        ),
        host_pools=tuple(_host_pool(match) for match in named.get("host_pool", [])),
    )


def _first_gib(matches: list[Match[str]], group: str) -> int | None:
    return gib_to_bytes(matches[0].group(group)) if matches else None


def _pool(match: Match[str]) -> Pool:
    sizes = [match.group(group) for group in ("k", "v", "kv") if match.group(group) is not None]
    return Pool(int(match.group("tokens")), sum(gib_to_bytes(size) for size in sizes), len(sizes))


def _host_pool(match: Match[str]) -> HostPool:
    tokens = match.groupdict().get("tokens")
    return HostPool(gb_to_bytes(match.group("size")), int(tokens) if tokens else None)


def _totals(match: Match[str]) -> Totals:
    free = match.group("free")
    return Totals(
        tokens=int(match.group("tokens")),
        max_running_requests=int(match.group("requests")),
        context_length=int(match.group("context")),
        device=match.group("device") or "gpu",
        free_bytes=gib_to_bytes(free) if free is not None else None,
    )
