# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rungs of the ladder: what each would do, when it has nothing to do, and doing it. Private to the collection, may change any time."""

from __future__ import annotations

from ...core.sentences import capital, listed
from ..killer import Ending
from .commands import Ran
from .rung import SETTLE_SECONDS, Done, Door, Halt, Rung
from .rung_reset import Reboot, Reset
from .situation import Request, Situation, people, selected

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
