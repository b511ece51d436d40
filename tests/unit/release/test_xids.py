# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of Xids, and its page."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.release import xids
from ansible_collections.blackwell.inference.plugins.module_utils.release.xids import MEANINGS, meaning_of

PAGE = Path(__file__).parents[3] / "docs/xids.md"


def rows(heading: str) -> list[list[str]]:
    """Cells of the table whose first heading this is."""
    lines = PAGE.read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"| {heading} |")) + 2
    end = next(number for number in range(start, len(lines)) if not lines[number].startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[start:end]]


def numbers(cell: str) -> list[int]:
    ends = [[int(number) for number in part.split("-")] for part in cell.split(", ")]
    return [number for first, *last in ends for number in range(first, (last or [first])[0] + 1)]


def test_the_page_says_what_the_table_says() -> None:
    shown = [
        (number, (kind, what, cure or None))
        for cell, kind, what, cure, _source in rows("Xid")
        for number in numbers(cell)
    ]
    assert len(shown) == len(MEANINGS)
    assert dict(shown) == {number: (one.kind, one.what, one.cure) for number, one in MEANINGS.items()}
    assert all(row[-1] for row in rows("Xid"))
    assert [tuple(row) for row in rows("cure")] == list(xids.CURES.items())
    assert [tuple(row) for row in rows("kind")][:4] == list(xids.KINDS.items())


def test_hardware_and_only_hardware_has_a_cure() -> None:
    for number, meaning in MEANINGS.items():
        assert (meaning.kind == xids.HARDWARE) == (meaning.cure in xids.CURES), number
        assert meaning.kind in (xids.APPLICATION, xids.CONSEQUENCE, xids.HARDWARE), number


@pytest.mark.parametrize(
    ("number", "text", "kind", "cure"),
    [
        (13, " Graphics Exception: ESR 0x52e7b0=0x101000e", "application", None),
        (31, " pid=684430, name=python3", "application", None),
        (43, " pid=1, name=python3, Ch 00000008", "consequence", None),
        (45, " pid=1, name=python3, Ch 00000008", "consequence", None),
        (79, " GPU has fallen off the bus.", "hardware", "power_off"),
        (119, " Timeout after 6s", "hardware", "reset"),
        (144, " SAW_MVB Nonfatal XC0 i0 Link 0", "consequence", None),
        (144, " SAW_MVB Fatal XC0 i0 Link 0", "hardware", "fabric_reset"),
        (154, " GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)", "hardware", "reset"),
        (154, " GPU recovery action changed from 0x0 (None) to 0x1 (PF FLR)", "hardware", "reset"),
        (154, " GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)", "hardware", "reboot"),
        (154, " GPU recovery action changed from 0x0 (None) to 0x2 (OS Reboot)", "hardware", "reboot"),
        (154, " GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)", "hardware", "reset"),
        (154, " GPU recovery action changed from 0x1 (PF FLR) to 0x0 (None)", "consequence", None),
        (154, " words of a driver to come", "hardware", "reset"),
        (2, "", "unknown", None),
        (999, " words of a driver to come", "unknown", None),
    ],
)
def test_what_a_number_means(number: int, text: str, kind: str, cure: str | None) -> None:
    meaning = meaning_of(number, text)
    assert (meaning.kind, meaning.cure) == (kind, cure)
