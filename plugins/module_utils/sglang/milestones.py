# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a start has come, told from its log. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from .log_lines import events

# Line that opens a phase (names of `log_lines.LINES`) and what the phase is called, in the order of a start of SGLang since 0.4.9.
PHASES = {
    "distributed": "connecting ranks",
    "weights_begin": "loading weights",
    "shards": "loading weights",
    "weights_end": "sizing pools",
    "graph_begin": "capturing graphs",
    "totals": "building caches",
    "host_pool": "pinning host memory",
    "host_side_pool": "pinning host memory",
    "listening": "warming up",
    "fired_up": "ready",
}
FIRST_PHASE = "starting"


@dataclass(frozen=True)
class Milestone:
    """The last milestone that the journal of this start shows."""

    phase: str = FIRST_PHASE
    shards_loaded: int = 0
    shards_total: int | None = None
    fired_up: bool = False

    @property
    def start_seen(self) -> bool:
        """Whether any line of the start itself was seen; a journal that was rotated since then shows none."""
        return self.phase != FIRST_PHASE


def follow(milestone: Milestone, lines: Iterable[str]) -> Milestone:
    """The milestone after `lines` more lines. Nothing follows the line that says the server is up: a late line of a rank opens no phase again."""
    for event in events(lines):
        if milestone.fired_up:
            break
        milestone = replace(milestone, phase=PHASES.get(event.name, milestone.phase), fired_up=event.name == "fired_up")
        if event.name == "shards":
            milestone = replace(
                milestone, shards_loaded=int(event.match.group("loaded")), shards_total=int(event.match.group("total"))
            )
    return milestone
