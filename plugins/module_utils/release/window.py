# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readings in a row: one that finds the GPUs free proves nothing yet. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .finding import RELEASED, Finding
from .proof import Proof


@dataclass(frozen=True)
class Window:
    """`wanted`: how many free readings in a row are the proof; `free`: how many there were up to now."""

    wanted: int
    free: int = 0

    def after(self, proof: Proof) -> Window:
        return replace(self, free=self.free + 1 if proof.state == RELEASED.state else 0)

    @property
    def proven(self) -> bool:
        return self.free >= self.wanted

    def conclude(self, last: Proof) -> Proof:
        """The last reading's proof when no more time is left."""
        if last.state != RELEASED.state or self.proven:
            return last
        why = f"The GPUs were found free in the last {self.free} readings when the time was up: {self.wanted} in a row were expected."
        return replace(
            last,
            finding=Finding("unproven", why, "Raise deadline_seconds, or see what opens the GPUs again and again."),
        )
