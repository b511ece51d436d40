# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of the kernel's trace of signals, as Linux 6.18 writes them."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.tests.signals.tracer import Sent, TracerError, parse

HEAD = "# tracer: nop\n#\n# entries-in-buffer/entries-written: 1/1   #P:2\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "            bash-14804   [000] d..1.   350.171117: signal_generate: sig=15 errno=0 code=0 comm=bash pid=14809 grp=1 res=0",
            Sent(15, 0, 14804, "bash", 14809, "bash"),
        ),
        (
            "   dpkg-deb-4635    [001] dN.2.   880.156941: signal_generate: sig=17 errno=0 code=1 comm=dpkg-split pid=4556 grp=1 res=1",
            Sent(17, 1, 4635, "dpkg-deb", 4556, "dpkg-split"),
        ),
        (
            " a pid=1 -2-77   (     70) [013] d..1.  1.000001: signal_generate: sig=9 errno=0 code=-6 comm=b [0] pid=3 pid=8 grp=0 res=2",
            Sent(9, -6, 77, "a pid=1 -2", 8, "b [0] pid=3"),
        ),
        (
            "          <idle>-0       [000] d.h2. 12.5: signal_generate: sig=14 errno=0 code=128 comm=python3 pid=9 grp=1 res=0",
            Sent(14, 128, 0, "<idle>", 9, "python3"),
        ),
        (
            "          a\n#b-1       [000] d.h2. 12.5: signal_generate: sig=10 errno=0 code=0 comm=c\n#d pid=9 grp=1 res=0",
            Sent(10, 0, 1, "a\n#b", 9, "c\n#d"),
        ),
    ],
    ids=[
        "plain",
        "dashes in names",
        "blanks and our own words in names, a column more",
        "from a timer",
        "line ends in names",
    ],
)
def test_a_signal(line: str, expected: Sent) -> None:
    assert parse(f"{HEAD}{line}\n") == [expected]


def test_no_signal() -> None:
    assert parse(HEAD) == []


@pytest.mark.parametrize("line", ["CPU:1 [LOST 12 EVENTS]", " bash-1 [000] d..1. 3.1: signal_generate: sig=15"])
def test_what_is_not_understood_is_not_passed_over(line: str) -> None:
    with pytest.raises(TracerError, match=r"has a line that is not understood"):
        parse(f"{HEAD}{line}\n")


def test_signals_have_their_usual_names() -> None:
    assert Sent(15, 0, 1, "a", 2, "b").name == "TERM"
