# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a step of the escalation is, and the actions that it has on the host. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Callable, Protocol

from ..observe.identity import Identity
from ..release.termination import Outcome
from .commands import Ran
from .state import GuestGpuState, ProxmoxRequest

SETTLE_SECONDS = 30.0


class HostActions(Protocol):
    """All that the escalation does to the host."""

    def look(self) -> GuestGpuState: ...

    def now(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...

    def run(self, command: Sequence[str], seconds: float) -> Ran: ...

    def end(self, identities: Collection[Identity], grace_seconds: float, deadline: float) -> dict[int, Outcome]: ...

    def kill_group(self, control_group: str) -> bool:
        """Kills what is left in a control group at once; False where nothing was."""

    def reset_command(self, address: str) -> tuple[str, ...] | None: ...

    def gave_up(self) -> str | None:
        """The kernel's line, since the release began, that a wanted card did not come back from a reset."""


@dataclass(frozen=True)
class Stop:
    """Why nothing further can be tried: the state that it ends in, and the next step."""

    state: str
    why: str
    next_step: str


@dataclass(frozen=True)
class StepResult:
    """`failed`: it could not be done at all. `pending`: what time may still change, until `until`."""

    what: str
    until: float
    failed: bool = False
    stop: Stop | None = None
    pending: Callable[[GuestGpuState], bool] = lambda state: True


class Step(Protocol):
    name: str

    def obstacle(self, state: GuestGpuState, request: ProxmoxRequest) -> str | Stop | None:
        """Why it does not apply here: a sentence, or a stop where what comes after it does not either."""

    def consent(self, state: GuestGpuState) -> str: ...

    def plan(self, state: GuestGpuState, request: ProxmoxRequest) -> str:
        """What it would do."""

    def run(self, host: HostActions, state: GuestGpuState, request: ProxmoxRequest) -> StepResult: ...
