# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The escalation: from ending processes to a reboot, as far as was consented to and not a step further. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from ..core.text import capital
from .state import GuestGpuState, ProxmoxRequest, holding
from .step import HostActions, Step, StepResult, Stop
from .steps import ESCALATION

START_SECONDS = 3600.0
"""A VM with hundreds of GiB and passed-through GPUs is given the better part of an hour by Proxmox itself."""
_POLL_SECONDS = 1.0
REBOOT = "Reboot the host once its guests may stop: systemctl reboot. Where the fault comes back, power it off for half a minute."
_STATES = {
    "processes": "needs_consent",
    "guest_stop": "needs_consent",
    "reset": "needs_reset",
    "reboot": "needs_reboot",
}


@dataclass(frozen=True)
class Attempt:
    """`outcome`: released, not_enough, failed, not_applicable, not_consented, left_to_play or (check mode) would_try."""

    rung: str
    outcome: str
    what: str


@dataclass(frozen=True)
class Release:
    """`consent_needed`: the consent that was missing. `restarted`: whether the guest, stopped here, was started again; None: it was not stopped."""

    state: str
    rungs: tuple[Attempt, ...] = ()
    why: str | None = None
    next_step: str | None = None
    consent_needed: str | None = None
    restarted: bool | None = None

    @property
    def acted(self) -> bool:
        return any(attempt.outcome in ("released", "not_enough", "failed", "would_try") for attempt in self.rungs)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "rungs": [asdict(attempt) for attempt in self.rungs]}


def release(host: HostActions, request: ProxmoxRequest) -> Release:
    state = host.look()
    was_running = state.guest.running
    attempts: list[Attempt] = []
    over = _over(state)
    for step in ESCALATION:
        if over:
            break
        passed = _passed_over(step, state, request)
        if passed:
            attempt, over = passed
        else:
            done = step.run(host, state, request)
            state = _settled(host, done)
            outcome = "released" if state.released else "failed" if done.failed else "not_enough"
            attempt = Attempt(step.name, outcome, done.what)
            over = (None if state.released else _halted(done.stop)) or _over(state)
        attempts.append(attempt)
    ended = replace(over or Release("held"), rungs=tuple(attempts))
    return _with_guest(host, ended, state, was_running)


def foresee(state: GuestGpuState, request: ProxmoxRequest) -> Release:
    """What `release` would try, each step on what the one before would leave at worst."""
    attempts: list[Attempt] = []
    over = _over(state)
    for step in ESCALATION:
        if over:
            break
        passed = _passed_over(step, state, request)
        if passed:
            attempt, over = passed
            attempts.append(attempt)
        else:
            doubt = "If that is not enough: " if any(attempt.outcome == "would_try" for attempt in attempts) else ""
            plan = step.plan(state, request)
            attempts.append(Attempt(step.name, "would_try", doubt + (plan[0].lower() + plan[1:] if doubt else plan)))
            state = state.without_guest() if step.name == "guest_stop" else state
    tries = any(attempt.outcome == "would_try" for attempt in attempts)
    return replace(Release("held") if tries or over is None else over, rungs=tuple(attempts))


def _over(state: GuestGpuState) -> Release | None:
    """The end of it, where the state itself is one."""
    if state.released:
        return Release("released")
    if state.others and not state.contexts:
        why = (
            f"{capital(holding(state.others, state.addresses))}; "
            f"that is not of {state.guest.words}, and was not touched."
        )
        return Release("held", why=why, next_step="End that where it belongs, or name other GPUs in gpus.")
    return None


def _passed_over(step: Step, state: GuestGpuState, request: ProxmoxRequest) -> tuple[Attempt, Release | None] | None:
    """Why a step is not taken, and the end of it all where it is one; None for one that is taken."""
    obstacle = step.obstacle(state, request)
    if obstacle is not None:
        why = obstacle.why if isinstance(obstacle, Stop) else obstacle
        return Attempt(step.name, "not_applicable", why), _halted(obstacle)
    if step.name == "reboot" or not request.allows(step.consent(state)):
        return _refused(step, state, request)
    return None


def _halted(obstacle: str | Stop | None) -> Release | None:
    return (
        Release(obstacle.state, why=obstacle.why, next_step=obstacle.next_step) if isinstance(obstacle, Stop) else None
    )


def _refused(step: Step, state: GuestGpuState, request: ProxmoxRequest) -> tuple[Attempt, Release]:
    consent, plan = step.consent(state), step.plan(state, request)
    allowed = request.allows(consent)
    next_step = REBOOT if step.name == "reboot" else f"Set consent to {consent}: {plan[0].lower()}{plan[1:]}"
    attempt = Attempt(step.name, "left_to_play" if allowed else "not_consented", plan)
    return attempt, Release(
        _STATES[step.name], why=_why(state), next_step=next_step, consent_needed=None if allowed else consent
    )


def _why(state: GuestGpuState) -> str:
    if state.contexts:
        return f"{capital(holding(state.contexts, state.addresses))}."
    return " ".join(state.faults.values())


def _settled(host: HostActions, done: StepResult) -> GuestGpuState:
    """Looks until the GPUs are released, or nothing that time could change is left, or time is over."""
    state = host.look()
    while not state.released and done.stop is None and done.pending(state) and host.now() < done.until:
        host.sleep(_POLL_SECONDS)
        state = host.look()
    return state


def _with_guest(host: HostActions, ended: Release, state: GuestGpuState, was_running: bool) -> Release:
    """Starts the guest again where it ran before and its GPUs can be had. Otherwise it stays as it is: a start on held GPUs hangs, or fails."""
    guest = state.guest
    if not was_running or guest.running:
        return ended
    stays = f"{capital(guest.words)} stays stopped."
    if ended.state != "released":
        return replace(ended, why=f"{ended.why} {stays}", restarted=False)
    command = ("pct" if guest.kind == "lxc" else "qm", "start", str(guest.vmid))
    ran = host.run(command, START_SECONDS)
    if ran.ok:
        return replace(ended, restarted=True)
    why = f"The GPUs are released. {stays} `{' '.join(command)}` {ran.complaint}."
    return replace(ended, why=why, next_step="Remove that cause and start it by hand.", restarted=False)
