# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that end, and those that do not."""

from __future__ import annotations

import time

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.proxmox.commands import Ran, run_for


@pytest.mark.parametrize(
    ("script", "ran"),
    [
        ("echo out; echo error >&2; exit 3", Ran(3, "out\n", "error\n")),
        ("cat; printf '%s' \"$LC_ALL\"", Ran(0, "C", "")),
        ("sleep 3 & echo not waited for", Ran(0, "not waited for\n", "")),
    ],
)
def test_what_a_command_did(script, ran):
    assert run_for(("sh", "-c", script), 2) == ran


def test_one_that_does_not_end_is_ended_with_its_children(tmp_path):
    mark = tmp_path / "mark"
    ran = run_for(("sh", "-c", f"(sleep 2; touch {mark}) & echo begun; wait"), 0.3)
    assert ran == Ran(None, "begun\n", "")
    assert ran.complaint == "did not end in time"
    time.sleep(2.5)
    assert not mark.exists()


def test_one_that_is_not_there():
    ran = run_for(("no-such-command",), 5)
    assert (ran.ok, ran.complaint) == (False, 'ended with 127 and said "no-such-command: No such file or directory"')


@pytest.mark.parametrize(
    ("ran", "complaint"),
    [
        (Ran(1, "ignored\n", "first\nlast\n"), 'ended with 1 and said "last"'),
        (Ran(1, "told here\n", ""), 'ended with 1 and said "told here"'),
        (Ran(255, "", " \n"), "ended with 255"),
    ],
)
def test_its_last_word(ran, complaint):
    assert ran.complaint == complaint
