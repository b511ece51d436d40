# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many readings in a row prove that GPUs are free."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.release.gpu_status import RELEASED, GpuStatus
from ansible_collections.blackwell.inference.plugins.module_utils.release.proof import ConsecutiveReadings, Proof

FREE, HELD = Proof(RELEASED), Proof(GpuStatus("held", "GPU 0 is held.", "End it."))


def after(wanted: int, readings: list[Proof]) -> ConsecutiveReadings:
    window = ConsecutiveReadings(wanted)
    for reading in readings:
        window = window.after(reading)
    return window


@pytest.mark.parametrize(
    ("wanted", "readings", "proven"),
    [
        (3, [FREE, FREE, FREE], True),
        (3, [FREE, FREE], False),
        (3, [FREE, FREE, HELD, FREE], False),
        (3, [FREE, FREE, HELD, FREE, FREE, FREE], True),
        (3, [FREE, FREE, FREE, HELD], False),
        (1, [FREE], True),
        (1, [], False),
    ],
)
def test_proven_after_free_readings_in_a_row(wanted, readings, proven):
    assert after(wanted, readings).proven == proven


def test_the_time_was_up_before_there_were_enough():
    last = after(3, [HELD, FREE, FREE]).conclude(FREE)
    assert (last.state, last.why, last.next_step) == (
        "unproven",
        "The GPUs were found free in the last 2 readings when the time was up: 3 in a row were expected.",
        "Raise deadline_seconds, or see what opens the GPUs again and again.",
    )


@pytest.mark.parametrize(("readings", "last"), [([FREE] * 3, FREE), ([FREE, HELD], HELD)])
def test_what_is_proven_or_held_stays_what_it_is(readings, last):
    assert after(3, readings).conclude(last) is last
