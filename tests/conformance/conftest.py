# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run of the lane says of itself: its seed, and how many cases of each family were the same."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import lane

_RAN: dict[tuple[str, str], tuple[int, int, int]] = {}


def pytest_report_header(config: pytest.Config) -> str:
    return f"conformance: seed {lane.SEED}, {lane.COUNT} cases a family (CONFORMANCE_SEED, CONFORMANCE_CASES)"


@pytest.fixture
def record():
    """Notes what a family came to: (version, family, cases, starts that the engine refuses, differences)."""

    def note(version: str, family: str, cases: int, refused: int, different: int) -> None:
        _RAN[family, version] = (cases, refused, different)

    return note


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not _RAN:
        return
    terminalreporter.section(f"conformance with SGLang, seed {lane.SEED}")
    terminalreporter.write_line(f"{'family':24}{'version':>9}{'cases':>8}{'refused':>9}{'different':>11}")
    for (family, version), (cases, refused, different) in sorted(_RAN.items()):
        terminalreporter.write_line(f"{family:24}{version:>9}{cases:8}{refused:9}{different:11}")
