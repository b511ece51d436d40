# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A finding: the state of a GPU, its reason and what to do about it. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

STATES = ("released", "held", "held_by_unseen", "unproven", "needs_reset", "needs_reboot")
"""From the best to the worst: each takes more to get out of than those before it."""


@dataclass(frozen=True)
class Finding:
    """`why` and `next_step` are sentences, None for a GPU that is released."""

    state: str
    why: str | None = None
    next_step: str | None = None


RELEASED = Finding("released")


def worst(findings: Sequence[Finding]) -> Finding:
    """The first of the worst."""
    return max(findings, key=lambda finding: STATES.index(finding.state), default=RELEASED)
