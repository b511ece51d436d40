# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and words put together."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.text import abridged, capital, listed


@pytest.mark.parametrize(
    ("names", "whole", "short"),
    [
        ("", "", ""),
        ("a", "a", "a"),
        ("ab", "a and b", "a and b"),
        ("abc", "a, b and c", "a, b and c"),
        ("abcd", "a, b, c and d", "a, b, c and 1 more"),
        ("abcde", "a, b, c, d and e", "a, b, c and 2 more"),
    ],
)
def test_names(names: str, whole: str, short: str):
    assert (listed(list(names)), abridged(list(names))) == (whole, short)


@pytest.mark.parametrize(("text", "capitalised"), [("gpu 0 of VM 7", "Gpu 0 of VM 7"), ("", "")])
def test_capital(text: str, capitalised: str):
    assert capital(text) == capitalised
