# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of the escalation: what each would do, when it has nothing to do, and doing it. Private to the collection, may change any time."""

from __future__ import annotations

import posixpath

from ..core.text import abridged, capital, listed
from ..observe.holders.scan import HIDDEN
from ..release.termination import Ending
from .commands import Ran
from .gpu_health import RESET_SECONDS
from .inventory import GuestHolder
from .state import Request, Situation, holding, named, people, selected, together
from .step import SETTLE_SECONDS, Done, Door, Halt, Rung

POWER = "Power the host off for half a minute: a reboot leaves a card that did not come back from its reset as it is."


class Reset:
    name = "reset"

    def obstacle(self, situation: Situation, request: Request) -> str | Halt | None:
        if situation.contexts:
            return f"No reset while {holding(situation.contexts, situation.addresses)}."
        faulty = tuple(situation.faults)
        clients = tuple(held for held in situation.clients if _is_client(held, faulty))
        sharing = tuple(guest for guest in situation.neighbours if set(situation.host.gpus_of(guest)) & set(faulty))
        if clients:
            return _halt(faulty, f"open in {people(clients)}", "End that first.")
        if sharing:
            return _halt(faulty, f"also given to {together(sharing)}", f"Stop {together(sharing)} first.")
        # What a policy hides from root too does not hang, and cannot be helped.
        missed = [entry.what for entry in situation.host.unread if entry.what != HIDDEN]
        if missed:
            because = f"whether it is open in {abridged(missed)} could not be seen"
            return _halt(faulty, because, "See what that waits for, or reboot the host.")
        return None

    def consent(self, situation: Situation) -> str:
        """A reset that fails was seen to take the host with it, so other guests with GPUs are put at stake as by a reboot."""
        return "reboot" if situation.neighbours else "reset"

    def plan(self, situation: Situation, request: Request) -> str:
        risk = ""
        if situation.neighbours:
            others = capital(together(situation.neighbours))
            have = "has" if len(situation.neighbours) == 1 else "have"
            risk = f" {others} {have} GPUs of this host too, and a reset that fails can take the host with it."
        return f"Resets {named(tuple(situation.faults))}.{risk}"

    def climb(self, door: Door, situation: Situation, request: Request) -> Done:
        told, failed = [], False
        for address in situation.faults:
            command = door.reset_command(address)
            if command is None:
                told.append(f"the kernel knows no way to reset GPU {address}")
                failed = True
                continue
            ran = door.run(command, RESET_SECONDS)
            failed = failed or not ran.ok
            told.append(f"GPU {address} was reset" if ran.ok else f"the reset of GPU {address} {ran.complaint}")
            line = door.gave_up()
            if line:
                why = f'GPU {address} did not come back from its reset: the kernel says "{line}".'
                return Done(why, door.now(), failed=True, halt=Halt("needs_reboot", why, POWER))
        text = listed(told)
        return Done(f"{capital(text)}.", door.now() + min(SETTLE_SECONDS, request.deadline_seconds), failed)


class Reboot:
    """Left to the play: a module that took its host down could tell nothing any more."""

    name = "reboot"

    def obstacle(self, situation: Situation, request: Request) -> str | Halt | None:
        return None

    def consent(self, situation: Situation) -> str:
        return "reboot"

    def plan(self, situation: Situation, request: Request) -> str:
        return "The host has to be rebooted, which stops all its guests; this is left to the play (ansible.builtin.reboot)."

    def climb(self, door: Door, situation: Situation, request: Request) -> Done:
        raise NotImplementedError


def _is_client(held: GuestHolder, addresses: tuple[str, ...]) -> bool:
    """Not the driver's persistence daemon: the driver's reset speaks to it, and it lets go for it."""
    daemon = posixpath.basename(held.holder.identity.executable or "") == "nvidia-persistenced"
    return bool(set(held.addresses) & set(addresses)) and not daemon


def _halt(faulty: tuple[str, ...], because: str, next_step: str) -> Halt:
    return Halt("needs_reset", f"{named(faulty)} cannot be reset: {because}.", next_step)


STOP_SECONDS = 90.0  # `qm stop` waits 60 s for QEMU to quit, 10 s after TERM, and then kills


class Processes:
    name = "processes"

    def obstacle(self, situation: Situation, request: Request) -> str | Halt | None:
        if situation.guest.kind == "qemu":
            return f"The host cannot see the processes of {situation.guest.words}, only the VM as a whole."
        if selected(situation, request):
            return None
        if situation.contexts and (request.unit or request.user is not None):
            return (
                f"None of the processes that hold them is of the unit or user asked for: {people(situation.contexts)}."
            )
        return f"No process of {situation.guest.words} that may be ended by itself holds {situation.gpus}."

    def consent(self, situation: Situation) -> str:
        return "processes"

    def plan(self, situation: Situation, request: Request) -> str:
        rest = f", then what is left of {request.unit}" if request.unit else ""
        return f"Ends {people(selected(situation, request))}{rest}."

    def climb(self, door: Door, situation: Situation, request: Request) -> Done:
        until = door.now() + request.deadline_seconds
        victims = selected(situation, request)
        endings = door.end([held.holder.identity for held in victims], request.grace_seconds, until)
        told = [f"{held.words} {_ending(endings[held.pid])}" for held in victims]
        groups = {held.group_of(request.unit) for held in victims} if request.unit else set()
        killed = [group for group in sorted(groups) if door.kill_group(group)]
        if killed:
            told.append(f"what was left of {request.unit} was killed")
        ended = {(held.pid, held.holder.identity.start_ticks) for held in victims}

        def pending(now: Situation) -> bool:
            still = {(held.pid, held.holder.identity.start_ticks) for held in now.contexts}
            return bool(ended & still) or bool(now.faults)

        return Done(f"{listed(told)}.", until, pending=pending)


class GuestStop:
    name = "guest_stop"

    def obstacle(self, situation: Situation, request: Request) -> str | Halt | None:
        words = situation.guest.words
        if not situation.own:
            return f"Nothing of {words} has {situation.gpus} open: to stop it would release nothing."
        if not situation.guest.running:
            return f"{capital(words)} does not run any more, and {people(situation.own)} did not end with it."
        return None

    def consent(self, situation: Situation) -> str:
        return "guest_stop"

    def plan(self, situation: Situation, request: Request) -> str:
        return f"Stops {situation.guest.words}, and starts it again once {situation.gpus} can be had."

    def climb(self, door: Door, situation: Situation, request: Request) -> Done:
        until = door.now() + request.deadline_seconds
        stop = self._stop_container if situation.guest.kind == "lxc" else self._stop_vm
        ran, did = stop(door, situation, request)
        stuck = ran.status is None or "did not stop" in ran.stderr
        if not ran.ok and not stuck and "not running" not in ran.stderr:
            why = f"{capital(situation.guest.words)} could not be stopped: {did} {ran.complaint}."
            return Done(why, until, failed=True, halt=Halt("held", why, "Remove that cause, and run this again."))
        what = f"{did} {'stopped it' if ran.ok else ran.complaint}."
        qemu = situation.guest.qemu
        if qemu and not situation.guest.managed:
            endings = door.end([qemu], 1.0, max(until, door.now() + SETTLE_SECONDS))
            if endings[qemu.pid].signals:
                what += f" Its QEMU process {qemu.pid} was still there and {_ending(endings[qemu.pid])}."
        return Done(
            what, max(until, door.now() + 1), pending=lambda now: bool(now.own or now.guest.running or now.faults)
        )

    @staticmethod
    def _stop_container(door: Door, situation: Situation, request: Request) -> tuple[Ran, str]:
        return door.run(("pct", "stop", str(request.vmid)), request.deadline_seconds), f"`pct stop {request.vmid}`"

    @staticmethod
    def _stop_vm(door: Door, situation: Situation, request: Request) -> tuple[Ran, str]:
        """An orderly shutdown first, which leaves the time for the other way; high availability takes no `overrule-shutdown`."""
        vmid = str(request.vmid)
        patience = max(request.grace_seconds, request.deadline_seconds - STOP_SECONDS)
        ran = door.run(("qm", "shutdown", vmid, "--timeout", f"{patience:.0f}"), patience + SETTLE_SECONDS)
        if ran.ok:
            return ran, f"`qm shutdown {vmid}`"
        overrule = () if situation.guest.managed else ("--overrule-shutdown", "1")
        return door.run(("qm", "stop", vmid, *overrule), STOP_SECONDS), f"`qm stop {vmid}`"


LADDER: tuple[Rung, ...] = (Processes(), GuestStop(), Reset(), Reboot())


def _ending(ending: Ending) -> str:
    after = f" after {' and '.join(ending.signals)}" if ending.signals else ""
    where = f", waiting in {ending.wait_channel}" if ending.wait_channel else ""
    return f"{_ENDINGS[ending.outcome]}{after}{where}"


_ENDINGS = {
    "exited": "exited",
    "survived_kill": "did not end",
    "vanished": "had ended before any signal",
    "changed_identity": "was another process by then and was left alone",
    "protected": "is this module's own and was left alone",
}
