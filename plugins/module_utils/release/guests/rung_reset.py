# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last rungs of the ladder: a reset, and a reboot. Private to the collection, may change any time."""

from __future__ import annotations

import posixpath

from ...core.sentences import abridged, capital, listed
from ...observe.holders import HIDDEN
from .condition import RESET_SECONDS
from .listing import GuestHolder
from .rung import SETTLE_SECONDS, Done, Door, Halt
from .situation import Request, Situation, holding, named, people, together

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
