# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What SGLang's log says of a start, as frozen values. Private to the collection, may change any time.

GPU figures in the log are GiB labelled GB, host pools are decimal GB (SGLang since 0.4.9); both are bytes here, as exact as two decimals are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from re import Match

from ..core.units import gb_to_bytes, gib_to_bytes
from .log_lines import Event, events

ONLY_RANK = "TP0"


@dataclass(frozen=True)
class LoggedPool:
    """A KV pool on the GPU. `label` is Full or SWA for the two of a sliding-window hybrid, since 0.5.17."""

    tokens: int
    size_bytes: int
    figures: int  # how many rounded figures the size was added up from
    label: str | None = None


@dataclass(frozen=True)
class Sliding:
    """Tokens of a sliding-window hybrid's two pools; a model of sliding layers alone has no full ones."""

    full_tokens: int | None
    sliding_tokens: int


@dataclass(frozen=True)
class States:
    """The state pool of a hybrid with linear attention; `draft_bytes` holds the states between a draft's steps."""

    slots: int
    size_bytes: int
    draft_bytes: int


@dataclass(frozen=True)
class Graph:
    size_bytes: int
    free_bytes: int
    kind: str = "decode"  # decode, prefill or draft


@dataclass(frozen=True)
class LoggedHostPool:
    """A pool in host memory. Its tokens and its label are logged since 0.5.17; side pools (states, indexer keys) have always had a name."""

    size_bytes: int
    tokens: int | None
    label: str | None = None


@dataclass(frozen=True)
class Rank:
    """What one rank logged; a figure that it did not log is None or missing.

    `pools` are the target model's, `draft_pools` those of a draft beside it.
    """

    name: str
    free_before_load_bytes: int | None = None
    free_after_load_bytes: int | None = None
    weights_bytes: int | None = None
    draft_weights_bytes: int | None = None
    reserve_bytes: int = 0
    pools: tuple[LoggedPool, ...] = ()
    draft_pools: tuple[LoggedPool, ...] = ()
    sliding: Sliding | None = None
    states: States | None = None
    pool_end_free_bytes: int | None = None
    graphs: tuple[Graph, ...] = ()
    host_pools: tuple[LoggedHostPool, ...] = ()
    host_side_pools: tuple[LoggedHostPool, ...] = ()

    @property
    def pool(self) -> LoggedPool | None:
        """The target model's pool, of a sliding-window hybrid that of the full layers.

        Where one of several is not named so, it is the largest: a draft has fewer layers, and a sliding pool fewer tokens.
        """
        full = [pool for pool in self.pools if pool.label == "Full"]
        if not full and self.sliding and self.sliding.full_tokens is not None:
            full = [pool for pool in self.pools if pool.tokens == self.sliding.full_tokens]
        return max(full or self.pools, key=lambda pool: pool.size_bytes, default=None)

    @property
    def sliding_pool(self) -> LoggedPool | None:
        """The pool of the sliding layers, where the model has full ones too."""
        others = [pool for pool in self.pools if pool is not self.pool]
        return others[0] if self.sliding and self.sliding.full_tokens is not None and len(others) == 1 else None

    @property
    def graph_bytes(self) -> int | None:
        return sum(graph.size_bytes for graph in self.graphs) if self.graphs else None

    @property
    def host_pool(self) -> LoggedHostPool | None:
        """The target model's pool in host memory: the one labelled kv or full, up to 0.5.16 the largest. A draft's comes beside it."""
        own = [pool for pool in self.host_pools if pool.label in ("kv", "full")]
        return max(own or self.host_pools, key=lambda pool: pool.size_bytes, default=None)


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


_POOL_EVENTS = ("sliding", "state", "pool")
_RANK_EVENTS = frozenset(
    ["weights_begin", "weights_end", "reserve", *_POOL_EVENTS, "pool_end", "graph", "host_pool", "host_side_pool"]
)


def _rank(name: str, found: list[Event]) -> Rank:
    first_pool = next((index for index, event in enumerate(found) if event.name in _POOL_EVENTS), len(found))
    # From 0.5.14 on a draft is loaded before the pools are sized, up to 0.5.13 after: what was free is what the last load before the first pool left.
    before = [event.match for event in found[:first_pool] if event.name == "weights_end"]
    # In every version the target's pools are made first, and a line that ends them stands before those of a draft.
    target_end = next((index for index, event in enumerate(found) if event.name == "pool_end"), len(found))
    target, drafts = _matches(found[:target_end]), _matches(found[target_end:])
    named = _matches(found)
    loads = named.get("weights_end", [])
    return Rank(
        name=name,
        free_before_load_bytes=_first_gib(named.get("weights_begin", []), "free"),
        free_after_load_bytes=_first_gib(before[-1:], "free"),
        weights_bytes=_first_gib(loads, "size"),
        draft_weights_bytes=sum(gib_to_bytes(match.group("size")) for match in loads[1:]) if loads[1:] else None,
        reserve_bytes=sum(gib_to_bytes(match.group("size")) for match in named.get("reserve", [])[:1]),
        pools=tuple(_pool(match) for match in target.get("pool", [])),
        draft_pools=tuple(_pool(match) for match in drafts.get("pool", [])),
        sliding=next((_sliding(match) for match in target.get("sliding", [])), None),
        states=next((_states(match) for match in target.get("state", [])), None),
        pool_end_free_bytes=_first_gib(named.get("pool_end", []), "free"),
        graphs=tuple(_graph(match) for match in named.get("graph", [])),
        host_pools=tuple(_host_pool(match) for match in named.get("host_pool", [])),
        host_side_pools=tuple(_host_pool(match) for match in named.get("host_side_pool", [])),
    )


def _matches(found: list[Event]) -> dict[str, list[Match[str]]]:
    named: dict[str, list[Match[str]]] = {}
    for event in found:
        named.setdefault(event.name, []).append(event.match)
    return named


def _first_gib(matches: list[Match[str]], group: str) -> int | None:
    return gib_to_bytes(matches[0].group(group)) if matches else None


def _sum_gib(match: Match[str], *groups: str) -> int:
    return sum(gib_to_bytes(match.group(group)) for group in groups if match.group(group) is not None)


def _pool(match: Match[str]) -> LoggedPool:
    sizes = [group for group in ("k", "v", "kv") if match.group(group) is not None]
    return LoggedPool(int(match.group("tokens")), _sum_gib(match, *sizes), len(sizes), match.groupdict().get("label"))


def _sliding(match: Match[str]) -> Sliding:
    full = match.group("full")
    return Sliding(int(full) if full is not None else None, int(match.group("swa")))


def _states(match: Match[str]) -> States:
    return States(int(match.group("slots")), _sum_gib(match, "conv", "ssm"), _sum_gib(match, "draft_conv", "draft_ssm"))


def _graph(match: Match[str]) -> Graph:
    what = match.group("what")
    # "piecewise" up to 0.5.13, "target prefill" since 0.5.14; a draft's graphs, of whatever phase, are named so in every version.
    kind = "draft" if "draft" in what else "prefill" if "prefill" in what or "piecewise" in what else "decode"
    return Graph(gib_to_bytes(match.group("size")), gib_to_bytes(match.group("free")), kind)


def _host_pool(match: Match[str]) -> LoggedHostPool:
    groups = match.groupdict()
    tokens = groups.get("tokens") or groups.get("slots")
    return LoggedHostPool(gb_to_bytes(match.group("size")), int(tokens) if tokens else None, groups.get("label"))


def _totals(match: Match[str]) -> Totals:
    free = match.group("free")
    return Totals(
        tokens=int(match.group("tokens")),
        max_running_requests=int(match.group("requests")),
        context_length=int(match.group("context")),
        device=match.group("device") or "gpu",
        free_bytes=gib_to_bytes(free) if free is not None else None,
    )
