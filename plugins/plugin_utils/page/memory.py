# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page's pictures of memory: a bar of the rank, one of every card, one of the host. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ansible_collections.blackwell.inference.plugins.module_utils.core.ledger import Line
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import gib_text
from ansible_collections.blackwell.inference.plugins.module_utils.planning.report.tables import Table
from ansible_collections.blackwell.inference.plugins.module_utils.planning.report.text import free_text
from ansible_collections.blackwell.inference.plugins.plugin_utils.page import bars
from ansible_collections.blackwell.inference.plugins.plugin_utils.page.bars import Bar, BarStyle, Mark, Segment
from ansible_collections.blackwell.inference.plugins.plugin_utils.page.drawing import Drawing, drawing, slim_drawing
from ansible_collections.blackwell.inference.plugins.plugin_utils.page.ledger import Row, ledger_rows
from ansible_collections.blackwell.inference.plugins.plugin_utils.page.measured import available_seen, measured_of_card

_OUTSIDE = "taken before"
_REST = "of other things, not measured apart"


@dataclass(frozen=True)
class Figure:
    """A picture and what it shows."""

    caption: str
    drawing: Drawing


@dataclass(frozen=True)
class SmallBars:
    """One slim bar for each of many; a row is (name, bar, figure)."""

    caption: str
    rows: tuple[tuple[str, Drawing, str], ...]


@dataclass(frozen=True)
class MemorySection:
    """A ledger of the plan as pictures and as a table."""

    key: str
    heading: str
    figures: tuple[Figure, ...]
    small: SmallBars | None
    title: str
    rows: tuple[Row, ...]
    after: str = ""


def gpu_section(table: Table, plan: Mapping[str, Any], measured: Mapping[str, Any]) -> MemorySection:
    """The card with the least free memory, planned and measured; every card in small; the table."""
    cards = _cards(plan)
    limiting = min(cards, key=lambda card: (_free(card, table), card["index"]), default=None)
    whole = int(limiting["total_bytes"]) if limiting else table.capacity.size_bytes
    wished = plan["gpu"].get("headroom_wished_bytes")
    planned = bars.ledger_bar("Planned GPU memory of a rank", table, whole, _OUTSIDE)
    if wished:
        at = planned.segments[0].amount + table.capacity.size_bytes - wished
        planned = replace(planned, mark=Mark(at, f"{gib_text(wished)} must stay free"))
    which = "One rank's card" if len(cards) < 2 else "The card with the least free memory"
    figures = [Figure(f"Planned. {which}{_scale_text(planned, table)}", drawing(planned))]
    seen = _gpu_measured(planned, whole, measured)
    if seen is not None:
        caption = f"Measured, {measured.get('measured', 'an earlier start')}{_rest_text(seen)}"
        figures.append(Figure(caption, drawing(seen)))
    return MemorySection(
        table.key, "GPU memory", tuple(figures), _every_card(cards, table), table.title, ledger_rows(table)
    )


def host_section(
    table: Table, plan: Mapping[str, Any], measured: Mapping[str, Any], verdict: Mapping[str, Any] | None
) -> MemorySection:
    """The host's RAM, or what its cgroup allows, planned and measured; the table; and what `free -h` will show once the server stands."""
    whole, of_cgroup = _host_whole(table, plan.get("observation") or {})
    reserve = int(plan["host"]["reserve_bytes"])
    planned = bars.ledger_bar("Planned host memory", table, whole, _OUTSIDE)
    at = planned.segments[0].amount + table.capacity.size_bytes - reserve
    planned = replace(planned, mark=Mark(at, f"{gib_text(reserve)} reserve"))
    what = "The limit of the cgroup" if of_cgroup else "RAM"
    figures = [Figure(f"Planned. {what}{_scale_text(planned, table)}", drawing(planned))]
    seen = None if of_cgroup else _host_measured(planned, table, plan, measured, verdict)
    if seen is not None:
        source = measured.get("measured", "an earlier start")
        caption = f"Measured, {source}, and MemAvailable when it was verified{_rest_text(seen)}"
        figures.append(Figure(caption, drawing(seen)))
    shown = free_text(plan["host"]).removeprefix("; ")
    after = f"After the start, {shown}." if shown else ""
    return MemorySection(
        table.key, "Host memory", tuple(figures), _every_node(table, plan), table.title, ledger_rows(table), after
    )


def _scale_text(planned: Bar, table: Table) -> str:
    before = planned.segments[0].amount
    over = table.taken_bytes - table.capacity.size_bytes
    text = f", {gib_text(int(planned.scale) - max(0, over))}"
    if before:
        text += (
            f": {gib_text(int(before))} {_OUTSIDE} (grey), {gib_text(table.capacity.size_bytes)} {table.capacity.name}"
        )
    return text + (f". The plan takes {gib_text(over)} more than there is." if over > 0 else ".")


def _rest_text(planned: Bar) -> str:
    rest = next((segment for segment in planned.segments if segment.name == _REST), None)
    return f". Hatched: {bars.GIB_UNIT.text(rest.amount)} {_REST}." if rest else "."


def _cards(plan: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    used = plan["gpu"].get("cards") or ()
    seen = (plan.get("observation") or {}).get("gpus") or ()
    return [card for card in seen if card["index"] in used and card.get("total_bytes")]


def _free(card: Mapping[str, Any], table: Table) -> int:
    free = card.get("free_bytes")
    return table.capacity.size_bytes if free is None else int(free)


def _every_card(cards: Sequence[Mapping[str, Any]], table: Table) -> SmallBars | None:
    """All cards take what that with the least free memory does; what they had free beyond that stays free."""
    if len(cards) < 2:
        return None
    least = min(_free(card, table) for card in cards)
    scale = max(card["total_bytes"] for card in cards)
    rows = []
    for card in cards:
        more = _free(card, table) - least
        own = replace(
            table,
            capacity=replace(table.capacity, size_bytes=table.capacity.size_bytes + more),
            result=replace(table.result, size_bytes=table.result.size_bytes + more),
        )
        picture = bars.ledger_bar(f"GPU {card['index']}", own, int(card["total_bytes"]), _OUTSIDE)
        rows.append((replace(picture, scale=max(scale, picture.scale)), f"{gib_text(own.result.size_bytes)} free"))
    return _small_bars("Every card", rows)


def _every_node(table: Table, plan: Mapping[str, Any]) -> SmallBars | None:
    """NUMA nodes, each with an equal share of the instance for each of its cards: where the kernel puts it is not the plan's to say."""
    observation = plan.get("observation") or {}
    nodes = (observation.get("memory") or {}).get("numa_nodes") or ()
    cards = _cards(plan) if plan.get("gpu") else []
    if len(nodes) < 2 or not all(card.get("numa_node") is not None for card in cards) or not cards:
        return None
    scale = max(node["total_bytes"] for node in nodes)
    rows = []
    for node in nodes:
        own = [card["index"] for card in cards if card["numa_node"] == node["node"]]
        taken = table.taken_bytes * len(own) // len(cards)
        left = node["total_bytes"] - taken
        name = f"ranks of GPU {', '.join(str(index) for index in own)}"
        segments = (
            Segment(name, taken, BarStyle("pool")),
            Segment("beyond them", max(0, left), BarStyle(bars.FREE)),
        )
        picture = Bar(f"Node {node['node']}", bars.GIB_UNIT, max(scale, taken), segments)
        rows.append((picture, f"{gib_text(left)} left" if left >= 0 else f"{gib_text(-left)} too much"))
    return _small_bars("NUMA nodes, if the memory of every rank lies beside its card", rows)


def _small_bars(caption: str, rows: Sequence[tuple[Bar, str]]) -> SmallBars:
    return SmallBars(caption, tuple((picture.title, slim_drawing(picture), figure) for picture, figure in rows))


def _gpu_measured(planned: Bar, whole: int, measured: Mapping[str, Any]) -> Bar | None:
    before, left = measured.get("free_before_load_bytes"), measured.get("free_after_graphs_bytes")
    if before is None or left is None:
        return None
    free = Line("free after graph capture", int(left), "measured")
    return bars.measured_bar(
        "Measured GPU memory of a rank", planned, measured_of_card(measured), max(0, whole - before), free, _REST
    )


def _host_whole(table: Table, observation: Mapping[str, Any]) -> tuple[int, bool]:
    """The length of the bar, and whether that is the limit of a cgroup rather than the RAM."""
    limit = (observation.get("cgroup") or {}).get("limit_bytes")
    if table.capacity.source.startswith("cgroup") and limit is not None:
        return int(limit), True
    return int((observation.get("memory") or {}).get("total_bytes") or table.capacity.size_bytes), False


def _host_measured(
    planned: Bar,
    table: Table,
    plan: Mapping[str, Any],
    measured: Mapping[str, Any],
    verdict: Mapping[str, Any] | None,
) -> Bar | None:
    left, cache = available_seen(verdict), measured.get("host_cache_bytes_per_rank")
    if left is None:
        return None
    # The calibration knows the largest pool of a rank only: it says nothing where there are several.
    names = [line.name for line in table.lines if line.name.startswith("host cache")]
    taken = {names[0]: int(cache) * int(plan["ranks"])} if cache is not None and len(names) == 1 else {}
    outside = int(planned.segments[0].amount)
    return bars.measured_bar("Measured host memory", planned, taken, outside, Line("available", left, "meminfo"), _REST)
