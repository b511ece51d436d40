# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loading, ready, hung, failed, dead or stopped: a judgement on one look at a start. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from ..observe.systemd import UnitState
from ..sglang.milestones import Milestone

READY, LOADING, HUNG, FAILED, DEAD, STOPPED = "ready", "loading", "hung", "failed", "dead", "stopped"
FINAL = (READY, HUNG, FAILED, DEAD, STOPPED)


@dataclass(frozen=True)
class StartSnapshot:
    """What one look found, and what the first one of this wait had found."""

    unit: UnitState
    engine: str
    first_invocation: str | None
    first_restarts: int
    start_queued: bool
    milestone: Milestone
    serving: bool  # the model list answers, and if the journal no longer holds the start also a token counter of the unit's own process
    api_said: str
    silent_seconds: float
    stall_seconds: float
    elapsed_seconds: float

    @property
    def seen_running(self) -> bool:
        return self.first_invocation is not None

    @property
    def place(self) -> str:
        """Where in the start this look was."""
        if self.milestone.fired_up:
            return f"up by its own word, {self.elapsed_seconds:.0f} s after the start of {self.engine}"
        shards = (
            f" ({self.milestone.shards_loaded} of {self.milestone.shards_total} shards)"
            if self.milestone.shards_total
            else ""
        )
        return f"{self.milestone.phase}{shards}, {self.elapsed_seconds:.0f} s after the start of {self.engine}"


def _restarted(snapshot: StartSnapshot) -> bool:
    again = snapshot.seen_running and snapshot.unit.invocation_id not in (None, snapshot.first_invocation)
    return (
        again
        or snapshot.unit.n_restarts > snapshot.first_restarts
        or snapshot.unit.sub_state.startswith("auto-restart")
    )


def _ready(snapshot: StartSnapshot) -> bool:
    up = snapshot.unit.active_state in ("active", "reloading") and not snapshot.start_queued
    return up and snapshot.serving and (snapshot.milestone.fired_up or not snapshot.milestone.start_seen)


# The first row that holds is the state. A unit in activating/start-post is loading: a gate in it may wait for the API.
STATES: tuple[tuple[str, Callable[[StartSnapshot], bool], str], ...] = (
    (
        STOPPED,
        lambda snapshot: snapshot.unit.load_state != "loaded",
        "{unit} is not installed (systemd: {snapshot.unit.load_state}). A unit that is starting or running was expected; deploy the instance first.",
    ),
    (
        FAILED,
        _restarted,
        "{unit} ended and is started again while it is waited for, which counts as a failed start. It was last seen {snapshot.place}. {why}",
    ),
    (
        FAILED,
        lambda snapshot: snapshot.unit.active_state == "failed" and not snapshot.start_queued,
        "{unit} failed (systemd: {snapshot.unit.result}). It was last seen {snapshot.place}. {why}",
    ),
    (
        DEAD,
        lambda snapshot: snapshot.unit.active_state == "inactive" and snapshot.seen_running,
        "{unit} ended without an error while it was waited for (systemd: {snapshot.unit.result}); somebody stopped it, or the engine left by itself. "
        "It was last seen {snapshot.place}. {why}",
    ),
    (
        STOPPED,
        lambda snapshot: snapshot.unit.active_state == "inactive" and not snapshot.start_queued,
        "{unit} is inactive and no start of it is queued. A unit that is starting or running was expected; start it with: systemctl start {unit}.",
    ),
    (READY, _ready, ""),
    (
        HUNG,
        lambda snapshot: snapshot.silent_seconds >= snapshot.stall_seconds,
        "{unit} hangs: nothing moved for {snapshot.silent_seconds:.0f} s (stall_seconds is {snapshot.stall_seconds:.0f}), while it was {snapshot.place}. "
        "New journal lines, bytes read, growing memory or new processes were expected; the API said: {snapshot.api_said}. {why}",
    ),
    (LOADING, lambda snapshot: True, ""),
)


def judge_start(snapshot: StartSnapshot) -> tuple[str, str | None]:
    """The state, and the sentence that goes with it as a template with {why} still to be filled; None when nothing is wrong."""
    state, text = next((state, text) for state, holds, text in STATES if holds(snapshot))
    return state, text.format(unit=snapshot.unit.name, snapshot=snapshot, why="{why}") if text else None
