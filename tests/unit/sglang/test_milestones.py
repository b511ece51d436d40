# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a start has come."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.sglang.log_lines import split_lines
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.milestones import Milestone, follow

RECORDINGS = Path(__file__).parents[2] / "data" / "sglang"
T = "[2026-02-24 10:00:00 TP0]"


@pytest.mark.parametrize("version", ["0.5.9", "0.5.23"])
def test_phases_of_the_recorded_start_come_in_order(version: str) -> None:
    lines = split_lines((RECORDINGS / version / "cpu-llama-hicache" / "journal.log").read_bytes().decode())
    phases = []
    milestone = Milestone()
    for line in lines:
        milestone = follow(milestone, [line])
        if milestone.phase not in phases[-1:]:
            phases.append(milestone.phase)
    assert phases == [
        "starting",
        "connecting ranks",
        "loading weights",
        "sizing pools",
        "building caches",
        "pinning host memory",
        "warming up",
        "ready",
    ]
    assert (milestone.shards_loaded, milestone.shards_total, milestone.fired_up) == (4, 4, True)


def test_a_journal_without_its_beginning_shows_no_start() -> None:
    milestone = follow(Milestone(), [f"{T} Decode batch, #running-req: 1, #token: 272"])
    assert not milestone.start_seen


def test_shards_are_counted_while_they_load() -> None:
    update = "Loading safetensors checkpoint shards:  {}% Completed | {}/64 [00:10<00:43,  1.2it/s]"
    milestone = follow(Milestone(), [update.format(2, 1), update.format(19, 12)])
    assert (milestone.phase, milestone.shards_loaded, milestone.shards_total) == ("loading weights", 12, 64)


def test_nothing_follows_the_line_that_says_the_server_is_up() -> None:
    up = follow(Milestone(), ["The server is fired up and ready to roll!"])
    assert follow(up, [f"{T} Load weight begin. avail mem=94.04 GB"]) == up
