# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much memory may be locked."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.cgroup import (
    Memlock,
    memlock_words,
    read_memlock,
)
from ansible_collections.blackwell.inference.plugins.module_utils.observe.files import Unread

LINE = "Max locked memory         {soft:<20} {hard:<20} bytes     \n"


@pytest.mark.parametrize(
    ("soft", "hard", "expected"),
    [
        ("8388608", "unlimited", Memlock(8388608, None)),
        ("unlimited", "unlimited", Memlock(None, None)),
        ("0", "65536", Memlock(0, 65536)),
    ],
)
def test_soft_and_hard(make_host, soft, hard, expected):
    assert read_memlock(make_host({"/proc/self/limits": LINE.format(soft=soft, hard=hard)})) == expected


def test_a_recorded_container(make_host):
    assert read_memlock(make_host(recorded="nspawn-on-hybrid")) == Memlock(8388608, 8388608)


def test_a_missing_line_is_noted_and_not_taken_for_unlimited(make_host):
    host = make_host({"/proc/self/limits": "Limit  Soft Limit\n"})
    assert read_memlock(host) == Memlock(None, None)
    assert host.unread == (Unread("memlock", "/proc/self/limits has no line 'Max locked memory'"),)


def test_the_words_of_any_process():
    assert memlock_words("Max cpu time  1  2  seconds\n" + LINE.format(soft="8388608", hard="unlimited")) == (
        "8388608",
        "unlimited",
    )
    assert memlock_words("") == (None, None)
