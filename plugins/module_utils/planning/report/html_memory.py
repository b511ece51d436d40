# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page's pictures of memory: a bar of the rank, one of every card, one of the host. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...core.ledger import Line
from ...core.units import gib_text
from .html_bar import bar_figure, slim_bar
from .html_table import ledger_table
from .html_text import Markup, element, joined
from .report_bars import FREE, GIB_UNIT, Bar, BarStyle, Mark, Segment, ledger_bar, measured_bar
from .report_measured import available_seen, measured_of_card
from .tables import Table

_OUTSIDE = "taken before"
_REST = "of other things, not measured apart"


def gpu_picture(table: Table, plan: Mapping[str, Any], measured: Mapping[str, Any]) -> Markup:
    """The poorest card, planned and measured; every card in small; the table."""
    cards = _cards(plan)
    limiting = min(cards, key=lambda card: (_free(card, table), card["index"]), default=None)
    whole = int(limiting["total_bytes"]) if limiting else table.capacity.size_bytes
    wished = plan["gpu"].get("headroom_wished_bytes")
    drawn = ledger_bar("Planned GPU memory of a rank", table, whole, _OUTSIDE)
    if wished:
        at = drawn.segments[0].amount + table.capacity.size_bytes - wished
        drawn = replace(drawn, mark=Mark(at, f"{gib_text(wished)} must stay free"))
    which = "One rank's card" if len(cards) < 2 else "The card with the least free memory"
    figures = [bar_figure(drawn, f"Planned. {which}{_scale_text(drawn, table)}")]
    seen = _gpu_measured(drawn, whole, measured)
    if seen is not None:
        figures.append(bar_figure(seen, f"Measured, {measured.get('measured', 'an earlier start')}{_rest_text(seen)}"))
    return joined(*figures, _every_card(cards, table), ledger_table(table))


def host_picture(
    table: Table, plan: Mapping[str, Any], measured: Mapping[str, Any], verdict: Mapping[str, Any] | None
) -> Markup:
    """The host's RAM, or what its cgroup allows, planned and measured; the table."""
    whole, of_cgroup = _host_whole(table, plan.get("observation") or {})
    reserve = int(plan["host"]["reserve_bytes"])
    drawn = ledger_bar("Planned host memory", table, whole, _OUTSIDE)
    at = drawn.segments[0].amount + table.capacity.size_bytes - reserve
    drawn = replace(drawn, mark=Mark(at, f"{gib_text(reserve)} reserve"))
    figures = [
        bar_figure(drawn, f"Planned. {'The limit of the cgroup' if of_cgroup else 'RAM'}{_scale_text(drawn, table)}")
    ]
    seen = None if of_cgroup else _host_measured(drawn, table, plan, measured, verdict)
    if seen is not None:
        figures.append(
            bar_figure(
                seen,
                f"Measured, {measured.get('measured', 'an earlier start')}, and MemAvailable when it was verified{_rest_text(seen)}",
            )
        )
    return joined(*figures, _every_node(table, plan), ledger_table(table))


def _scale_text(drawn: Bar, table: Table) -> str:
    before = drawn.segments[0].amount
    over = table.taken_bytes - table.capacity.size_bytes
    told = f", {gib_text(int(drawn.scale) - max(0, over))}"
    if before:
        told += (
            f": {gib_text(int(before))} {_OUTSIDE} (grey), {gib_text(table.capacity.size_bytes)} {table.capacity.name}"
        )
    return told + (f". The plan takes {gib_text(over)} more than there is." if over > 0 else ".")


def _rest_text(drawn: Bar) -> str:
    rest = next((segment for segment in drawn.segments if segment.name == _REST), None)
    return f". Hatched: {GIB_UNIT.text(rest.amount)} {_REST}." if rest else "."


def _cards(plan: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    used = plan["gpu"].get("cards") or ()
    seen = (plan.get("observation") or {}).get("gpus") or ()
    return [card for card in seen if card["index"] in used and card.get("total_bytes")]


def _free(card: Mapping[str, Any], table: Table) -> int:
    free = card.get("free_bytes")
    return table.capacity.size_bytes if free is None else int(free)


def _every_card(cards: Sequence[Mapping[str, Any]], table: Table) -> Markup:
    """All cards take what the poorest does; what they had free beyond that stays free."""
    if len(cards) < 2:
        return Markup("")
    least = min(_free(card, table) for card in cards)
    scale = max(card["total_bytes"] for card in cards)
    bars = []
    for card in cards:
        more = _free(card, table) - least
        own = replace(
            table,
            capacity=replace(table.capacity, size_bytes=table.capacity.size_bytes + more),
            result=replace(table.result, size_bytes=table.result.size_bytes + more),
        )
        drawn = ledger_bar(f"GPU {card['index']}", own, int(card["total_bytes"]), _OUTSIDE)
        bars.append((replace(drawn, scale=max(scale, drawn.scale)), f"{gib_text(own.result.size_bytes)} free"))
    return _small_bars("Every card", bars)


def _every_node(table: Table, plan: Mapping[str, Any]) -> Markup:
    """NUMA nodes, each with an equal share of the instance for each of its cards: where the kernel puts it is not the plan's to say."""
    observation = plan.get("observation") or {}
    nodes = (observation.get("memory") or {}).get("numa_nodes") or ()
    cards = _cards(plan) if plan.get("gpu") else []
    if len(nodes) < 2 or not all(card.get("numa_node") is not None for card in cards) or not cards:
        return Markup("")
    scale = max(node["total_bytes"] for node in nodes)
    bars = []
    for node in nodes:
        own = [card["index"] for card in cards if card["numa_node"] == node["node"]]
        taken = table.taken_bytes * len(own) // len(cards)
        left = node["total_bytes"] - taken
        name = f"ranks of GPU {', '.join(str(index) for index in own)}"
        segments = (Segment(name, taken, BarStyle("pool")), Segment("beyond them", max(0, left), BarStyle(FREE)))
        drawn = Bar(f"Node {node['node']}", GIB_UNIT, max(scale, taken), segments)
        bars.append((drawn, f"{gib_text(left)} left" if left >= 0 else f"{gib_text(-left)} too much"))
    return _small_bars("NUMA nodes, if the memory of every rank lies beside its card", bars)


def _small_bars(caption: str, bars: Sequence[tuple[Bar, str]]) -> Markup:
    rows = [
        element("div", element("span", drawn.title), slim_bar(drawn), element("span", told), role="listitem")
        for drawn, told in bars
    ]
    return joined(
        element("p", caption, class_="what small"),
        element("div", *rows, class_="cards", role="list", aria_label=caption),
    )


def _gpu_measured(drawn: Bar, whole: int, measured: Mapping[str, Any]) -> Bar | None:
    before, left = measured.get("free_before_load_bytes"), measured.get("free_after_graphs_bytes")
    if before is None or left is None:
        return None
    free = Line("free after graph capture", int(left), "measured")
    return measured_bar(
        "Measured GPU memory of a rank", drawn, measured_of_card(measured), max(0, whole - before), free, _REST
    )


def _host_whole(table: Table, observation: Mapping[str, Any]) -> tuple[int, bool]:
    """The length of the bar, and whether that is the limit of a cgroup rather than the RAM."""
    limit = (observation.get("cgroup") or {}).get("limit_bytes")
    if table.capacity.source.startswith("cgroup") and limit is not None:
        return int(limit), True
    return int((observation.get("memory") or {}).get("total_bytes") or table.capacity.size_bytes), False


def _host_measured(
    drawn: Bar,
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
    outside = int(drawn.segments[0].amount)
    return measured_bar("Measured host memory", drawn, taken, outside, Line("available", left, "meminfo"), _REST)
