# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of the escalation: what each would do, when it has nothing to do, and doing it. Private to the collection, may change any time."""

from __future__ import annotations

import posixpath

from ..core.text import abridged, capital, listed
from ..observe.holders.scan import HIDDEN
from ..release.termination import Outcome
from .commands import Ran
from .gpu_health import RESET_SECONDS
from .inventory import GuestHolder
from .state import GuestGpuState, ProxmoxRequest, holding, named, people, selected, together
from .step import SETTLE_SECONDS, HostActions, Step, StepResult, Stop

POWER = "Power the host off for half a minute: a reboot leaves a card that did not come back from its reset as it is."


class Reset:
    name = "reset"

    def obstacle(self, state: GuestGpuState, request: ProxmoxRequest) -> str | Stop | None:
        if state.contexts:
            return f"No reset while {holding(state.contexts, state.addresses)}."
        faulty = tuple(state.faults)
        clients = tuple(held for held in state.clients if _is_client(held, faulty))
        sharing = tuple(guest for guest in state.neighbours if set(state.host.gpus_of(guest)) & set(faulty))
        if clients:
            return _halt(faulty, f"open in {people(clients)}", "End that first.")
        if sharing:
            return _halt(faulty, f"also given to {together(sharing)}", f"Stop {together(sharing)} first.")
        # What a policy hides from root too does not hang, and cannot be helped.
        missed = [entry.what for entry in state.host.unread if entry.what != HIDDEN]
        if missed:
            because = f"whether it is open in {abridged(missed)} could not be seen"
            return _halt(faulty, because, "See what that waits for, or reboot the host.")
        return None

    def consent(self, state: GuestGpuState) -> str:
        """A reset that fails was seen to take the host with it, so other guests with GPUs are put at stake as by a reboot."""
        return "reboot" if state.neighbours else "reset"

    def plan(self, state: GuestGpuState, request: ProxmoxRequest) -> str:
        risk = ""
        if state.neighbours:
            others = capital(together(state.neighbours))
            have = "has" if len(state.neighbours) == 1 else "have"
            risk = f" {others} {have} GPUs of this host too, and a reset that fails can take the host with it."
        return f"Resets {named(tuple(state.faults))}.{risk}"

    def run(self, host: HostActions, state: GuestGpuState, request: ProxmoxRequest) -> StepResult:
        results, failed = [], False
        for address in state.faults:
            command = host.reset_command(address)
            if command is None:
                results.append(f"the kernel knows no way to reset GPU {address}")
                failed = True
                continue
            ran = host.run(command, RESET_SECONDS)
            failed = failed or not ran.ok
            results.append(f"GPU {address} was reset" if ran.ok else f"the reset of GPU {address} {ran.complaint}")
            line = host.gave_up()
            if line:
                why = f'GPU {address} did not come back from its reset: the kernel says "{line}".'
                return StepResult(why, host.now(), failed=True, stop=Stop("needs_reboot", why, POWER))
        text = listed(results)
        return StepResult(f"{capital(text)}.", host.now() + min(SETTLE_SECONDS, request.deadline_seconds), failed)


class Reboot:
    """Left to the play: a module that took its host down could tell nothing any more."""

    name = "reboot"

    def obstacle(self, state: GuestGpuState, request: ProxmoxRequest) -> str | Stop | None:
        return None

    def consent(self, state: GuestGpuState) -> str:
        return "reboot"

    def plan(self, state: GuestGpuState, request: ProxmoxRequest) -> str:
        return "The host has to be rebooted, which stops all its guests; this is left to the play (ansible.builtin.reboot)."

    def run(self, host: HostActions, state: GuestGpuState, request: ProxmoxRequest) -> StepResult:
        raise NotImplementedError


def _is_client(held: GuestHolder, addresses: tuple[str, ...]) -> bool:
    """Not the driver's persistence daemon: the driver's reset speaks to it, and it lets go for it."""
    daemon = posixpath.basename(held.holder.identity.executable or "") == "nvidia-persistenced"
    return bool(set(held.addresses) & set(addresses)) and not daemon


def _halt(faulty: tuple[str, ...], because: str, next_step: str) -> Stop:
    return Stop("needs_reset", f"{named(faulty)} cannot be reset: {because}.", next_step)


STOP_SECONDS = 90.0  # `qm stop` waits 60 s for QEMU to quit, 10 s after TERM, and then kills


class EndProcesses:
    name = "processes"

    def obstacle(self, state: GuestGpuState, request: ProxmoxRequest) -> str | Stop | None:
        if state.guest.kind == "qemu":
            return f"The host cannot see the processes of {state.guest.words}, only the VM as a whole."
        if selected(state, request):
            return None
        if state.contexts and (request.unit or request.user is not None):
            return f"None of the processes that hold them is of the unit or user asked for: {people(state.contexts)}."
        return f"No process of {state.guest.words} that may be ended by itself holds {state.gpus}."

    def consent(self, state: GuestGpuState) -> str:
        return "processes"

    def plan(self, state: GuestGpuState, request: ProxmoxRequest) -> str:
        rest = f", then what is left of {request.unit}" if request.unit else ""
        return f"Ends {people(selected(state, request))}{rest}."

    def run(self, host: HostActions, state: GuestGpuState, request: ProxmoxRequest) -> StepResult:
        until = host.now() + request.deadline_seconds
        victims = selected(state, request)
        outcomes = host.end([held.holder.identity for held in victims], request.grace_seconds, until)
        results = [f"{held.words} {_ending(outcomes[held.pid])}" for held in victims]
        groups = {held.group_of(request.unit) for held in victims} if request.unit else set()
        killed = [group for group in sorted(groups) if host.kill_group(group)]
        if killed:
            results.append(f"what was left of {request.unit} was killed")
        ended = {(held.pid, held.holder.identity.start_ticks) for held in victims}

        def pending(now: GuestGpuState) -> bool:
            still = {(held.pid, held.holder.identity.start_ticks) for held in now.contexts}
            return bool(ended & still) or bool(now.faults)

        return StepResult(f"{listed(results)}.", until, pending=pending)


class GuestStop:
    name = "guest_stop"

    def obstacle(self, state: GuestGpuState, request: ProxmoxRequest) -> str | Stop | None:
        words = state.guest.words
        if not state.own:
            return f"Nothing of {words} has {state.gpus} open: to stop it would release nothing."
        if not state.guest.running:
            return f"{capital(words)} does not run any more, and {people(state.own)} did not end with it."
        return None

    def consent(self, state: GuestGpuState) -> str:
        return "guest_stop"

    def plan(self, state: GuestGpuState, request: ProxmoxRequest) -> str:
        return f"Stops {state.guest.words}, and starts it again once {state.gpus} can be had."

    def run(self, host: HostActions, state: GuestGpuState, request: ProxmoxRequest) -> StepResult:
        until = host.now() + request.deadline_seconds
        stop = self._stop_container if state.guest.kind == "lxc" else self._stop_vm
        ran, did = stop(host, state, request)
        stuck = ran.status is None or "did not stop" in ran.stderr
        if not ran.ok and not stuck and "not running" not in ran.stderr:
            why = f"{capital(state.guest.words)} could not be stopped: {did} {ran.complaint}."
            return StepResult(why, until, failed=True, stop=Stop("held", why, "Remove that cause, and run this again."))
        what = f"{did} {'stopped it' if ran.ok else ran.complaint}."
        qemu = state.guest.qemu
        if qemu and not state.guest.managed:
            outcomes = host.end([qemu], 1.0, max(until, host.now() + SETTLE_SECONDS))
            if outcomes[qemu.pid].signals:
                what += f" Its QEMU process {qemu.pid} was still there and {_ending(outcomes[qemu.pid])}."
        return StepResult(
            what, max(until, host.now() + 1), pending=lambda now: bool(now.own or now.guest.running or now.faults)
        )

    @staticmethod
    def _stop_container(host: HostActions, state: GuestGpuState, request: ProxmoxRequest) -> tuple[Ran, str]:
        return host.run(("pct", "stop", str(request.vmid)), request.deadline_seconds), f"`pct stop {request.vmid}`"

    @staticmethod
    def _stop_vm(host: HostActions, state: GuestGpuState, request: ProxmoxRequest) -> tuple[Ran, str]:
        """An orderly shutdown first, which leaves the time for the other way; high availability takes no `overrule-shutdown`."""
        vmid = str(request.vmid)
        patience = max(request.grace_seconds, request.deadline_seconds - STOP_SECONDS)
        ran = host.run(("qm", "shutdown", vmid, "--timeout", f"{patience:.0f}"), patience + SETTLE_SECONDS)
        if ran.ok:
            return ran, f"`qm shutdown {vmid}`"
        overrule = () if state.guest.managed else ("--overrule-shutdown", "1")
        return host.run(("qm", "stop", vmid, *overrule), STOP_SECONDS), f"`qm stop {vmid}`"


ESCALATION: tuple[Step, ...] = (EndProcesses(), GuestStop(), Reset(), Reboot())


def _ending(outcome: Outcome) -> str:
    after = f" after {' and '.join(outcome.signals)}" if outcome.signals else ""
    where = f", waiting in {outcome.wait_channel}" if outcome.wait_channel else ""
    return f"{_ENDINGS[outcome.outcome]}{after}{where}"


_ENDINGS = {
    "exited": "exited",
    "survived_kill": "did not end",
    "vanished": "had ended before any signal",
    "changed_identity": "was another process by then and was left alone",
    "protected": "is this module's own and was left alone",
}
