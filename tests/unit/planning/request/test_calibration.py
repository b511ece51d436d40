# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures of an earlier start."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import PlanningError
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.calibration import (
    Calibration,
    calibration_from_dict,
)


@pytest.mark.parametrize("data", [None, {}])
def test_nothing_measured(data):
    assert calibration_from_dict(data) == Calibration()
    assert calibration_from_dict(data).weights_bytes is None


def test_what_verification_writes():
    found = calibration_from_dict({
        "schema": 1, "measured": "journal 2026-02-24", "engine_version": "0.5.9", "model": {"name": "x"}, "ranks": 8, "tokens": 159277,
        "free_before_load_bytes": 100, "free_after_load_bytes": 30, "graph_bytes": 4, "start_seconds": 812.5,
    })  # fmt: skip
    assert (found.weights_bytes, found.graph_bytes, found.ranks, found.source) == (
        70,
        4,
        8,
        "measured: journal 2026-02-24",
    )


def test_figures_of_another_host_say_so():
    assert calibration_from_dict({"kind": "profile", "measured": "2026-02-24"}).source == "profile: 2026-02-24"


@pytest.mark.parametrize(
    ("calibration", "fits"),
    [
        (Calibration(), True),
        (Calibration(ranks=8), True),
        (Calibration(ranks=4), False),
        (Calibration(gpu_memory_total_bytes=1000), True),
        (Calibration(gpu_memory_total_bytes=1010), True),
        (Calibration(gpu_memory_total_bytes=1011), False),
    ],
)
def test_what_it_holds_for(calibration, fits):
    assert calibration.fits(8, 1000) is fits


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"graph_bytes": "4"},
            "The calibration: graph_bytes is the text '4'; expected a whole number from 0 to 1,125,899,906,842,624: "
            "remove it, or measure again by verifying a running server.",
        ),
        (
            {"free_before_load_bytes": 1, "free_after_load_bytes": 2},
            "The calibration says 1 bytes were free before the weights were loaded and 2 after; expected less after than before: "
            "remove it, or measure again by verifying a running server.",
        ),
        (
            [1],
            "The calibration is a list; expected a dictionary: remove it, or measure again by verifying a running server.",
        ),
    ],
)
def test_refusals(data, message):
    with pytest.raises(PlanningError) as refused:
        calibration_from_dict(data)
    assert str(refused.value) == message
