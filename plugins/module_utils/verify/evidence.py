# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The running instance as verification finds it: what several levels look at. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..core.errors import ObservationError
from ..observe.journald import read_entries
from ..observe.systemd import Run, UnitState, unit_state
from ..sglang import api
from ..sglang.log_lines import FIRED_UP, is_at_work, split_lines
from ..sglang.milestones import Milestone, follow
from ..sglang.start_log import StartJournal, parse_start
from ..wait.progress import pids_of_unit
from .planned import Planned


class NotRunning(ObservationError):
    """There is no process to verify."""


@dataclass(frozen=True)
class Question:
    """What is verified against what."""

    unit: str
    server: api.Server
    planned: Planned
    served_model_name: str
    engine_version: str
    expected_unit: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StartReading:
    """What the journal holds of this start. `rotated`: it holds later lines only.

    `started` and `fired_up` are the realtime of the first entry of the invocation and of the line that ends the start, in microseconds.
    """

    journal: StartJournal
    rotated: bool = False
    started: int | None = None
    fired_up: int | None = None


class Evidence:
    """Facts that several levels share; each is read once, when the first of them asks for it."""

    def __init__(self, run: Run, question: Question) -> None:
        """Raises NotRunning, or ObservationError when the host cannot be read."""
        self.run, self.question = run, question
        self.unit = self.unit_now()
        if not self.unit.running or self.unit.invocation_id is None:
            unit = self.unit
            raise NotRunning(
                f"{unit.name} is {unit.active_state or 'unknown'} (systemd: {unit.load_state}, {unit.result}). "
                f"A running unit was expected; start it with: systemctl start {unit.name}, wait until it is ready, then verify."
            )

    def unit_now(self) -> UnitState:
        """Read anew, unlike `unit`, which is the one that is verified."""
        return unit_state(self.run, self.question.unit)

    @cached_property
    def pids(self) -> tuple[int, ...]:
        return pids_of_unit(self.unit)

    @cached_property
    def start(self) -> StartReading:
        entries = read_entries(str(self.unit.invocation_id), enough=lambda entry: FIRED_UP in entry.message)
        lines = [line for entry in entries for line in split_lines(entry.message)]
        reached = follow(Milestone(), lines)
        return StartReading(
            journal=parse_start(lines),
            rotated=not reached.start_seen and any(is_at_work(line) for line in lines),
            started=entries[0].realtime if entries else None,
            fired_up=entries[-1].realtime if reached.fired_up else None,
        )

    @cached_property
    def models(self) -> api.Answer:
        return self.question.server.get(api.MODELS)

    @cached_property
    def server_info(self) -> tuple[api.Answer, Mapping[str, Any]]:
        return api.server_info(self.question.server)
