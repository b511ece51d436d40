# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ladder: from ending processes to a reboot, as far as was consented to and not a rung further. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from ..core.text import capital
from .state import Request, Situation, holding
from .step import Done, Door, Halt, Rung
from .steps import LADDER

START_SECONDS = (
    3600.0  # a VM with hundreds of GiB and passed-through GPUs is given the better part of an hour by Proxmox itself
)
_POLL_SECONDS = 1.0
REBOOT = "Reboot the host once its guests may stop: systemctl reboot. Where the fault comes back, power it off for half a minute."
_STATES = {
    "processes": "needs_consent",
    "guest_stop": "needs_consent",
    "reset": "needs_reset",
    "reboot": "needs_reboot",
}


@dataclass(frozen=True)
class Step:
    """`outcome`: released, not_enough, failed, not_applicable, not_consented, left_to_play or (check mode) would_try."""

    rung: str
    outcome: str
    what: str


@dataclass(frozen=True)
class Release:
    """`consent_needed`: the consent that was missing. `restarted`: whether the guest, stopped here, was started again; None: it was not stopped."""

    state: str
    rungs: tuple[Step, ...] = ()
    why: str | None = None
    next_step: str | None = None
    consent_needed: str | None = None
    restarted: bool | None = None

    @property
    def acted(self) -> bool:
        return any(step.outcome in ("released", "not_enough", "failed", "would_try") for step in self.rungs)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "rungs": [asdict(step) for step in self.rungs]}


def release(door: Door, request: Request) -> Release:
    situation = door.look()
    was_running = situation.guest.running
    steps: list[Step] = []
    over = _over(situation)
    for rung in LADDER:
        if over:
            break
        passed = _passed_over(rung, situation, request)
        if passed:
            step, over = passed
        else:
            done = rung.climb(door, situation, request)
            situation = _settled(door, done)
            outcome = "released" if situation.released else "failed" if done.failed else "not_enough"
            step = Step(rung.name, outcome, done.what)
            over = (None if situation.released else _halted(done.halt)) or _over(situation)
        steps.append(step)
    ended = replace(over or Release("held"), rungs=tuple(steps))
    return _with_guest(door, ended, situation, was_running)


def foresee(situation: Situation, request: Request) -> Release:
    """What `release` would try, each rung on what the one before would leave at worst."""
    steps: list[Step] = []
    over = _over(situation)
    for rung in LADDER:
        if over:
            break
        passed = _passed_over(rung, situation, request)
        if passed:
            step, over = passed
            steps.append(step)
        else:
            doubt = "If that is not enough: " if any(step.outcome == "would_try" for step in steps) else ""
            plan = rung.plan(situation, request)
            steps.append(Step(rung.name, "would_try", doubt + (plan[0].lower() + plan[1:] if doubt else plan)))
            situation = situation.without_guest() if rung.name == "guest_stop" else situation
    tries = any(step.outcome == "would_try" for step in steps)
    return replace(Release("held") if tries or over is None else over, rungs=tuple(steps))


def _over(situation: Situation) -> Release | None:
    """The end of it, where the situation itself is one."""
    if situation.released:
        return Release("released")
    if situation.others and not situation.contexts:
        why = (
            f"{capital(holding(situation.others, situation.addresses))}; "
            f"that is not of {situation.guest.words}, and was not touched."
        )
        return Release("held", why=why, next_step="End that where it belongs, or name other GPUs in gpus.")
    return None


def _passed_over(rung: Rung, situation: Situation, request: Request) -> tuple[Step, Release | None] | None:
    """Why a rung is not climbed, and the end of it all where it is one; None for one that is climbed."""
    obstacle = rung.obstacle(situation, request)
    if obstacle is not None:
        why = obstacle.why if isinstance(obstacle, Halt) else obstacle
        return Step(rung.name, "not_applicable", why), _halted(obstacle)
    if rung.name == "reboot" or not request.allows(rung.consent(situation)):
        return _refused(rung, situation, request)
    return None


def _halted(obstacle: str | Halt | None) -> Release | None:
    return (
        Release(obstacle.state, why=obstacle.why, next_step=obstacle.next_step) if isinstance(obstacle, Halt) else None
    )


def _refused(rung: Rung, situation: Situation, request: Request) -> tuple[Step, Release]:
    consent, plan = rung.consent(situation), rung.plan(situation, request)
    allowed = request.allows(consent)
    next_step = REBOOT if rung.name == "reboot" else f"Set consent to {consent}: {plan[0].lower()}{plan[1:]}"
    step = Step(rung.name, "left_to_play" if allowed else "not_consented", plan)
    return step, Release(
        _STATES[rung.name], why=_why(situation), next_step=next_step, consent_needed=None if allowed else consent
    )


def _why(situation: Situation) -> str:
    if situation.contexts:
        return f"{capital(holding(situation.contexts, situation.addresses))}."
    return " ".join(situation.faults.values())


def _settled(door: Door, done: Done) -> Situation:
    """Looks until the GPUs are released, or nothing that time could change is left, or time is over."""
    situation = door.look()
    while not situation.released and done.halt is None and done.pending(situation) and door.now() < done.until:
        door.sleep(_POLL_SECONDS)
        situation = door.look()
    return situation


def _with_guest(door: Door, ended: Release, situation: Situation, was_running: bool) -> Release:
    """Starts the guest again where it ran before and its GPUs can be had. Otherwise it stays as it is: a start on held GPUs hangs, or fails."""
    guest = situation.guest
    if not was_running or guest.running:
        return ended
    stays = f"{capital(guest.words)} stays stopped."
    if ended.state != "released":
        return replace(ended, why=f"{ended.why} {stays}", restarted=False)
    command = ("pct" if guest.kind == "lxc" else "qm", "start", str(guest.vmid))
    ran = door.run(command, START_SECONDS)
    if ran.ok:
        return replace(ended, restarted=True)
    why = f"The GPUs are released. {stays} `{' '.join(command)}` {ran.complaint}."
    return replace(ended, why=why, next_step="Remove that cause and start it by hand.", restarted=False)
