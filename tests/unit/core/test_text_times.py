# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times as they are written, wherever the machine is."""

from __future__ import annotations

import time

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.text import iso, utc


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_times(monkeypatch: pytest.MonkeyPatch, zone: str):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    assert (iso(1796032800.9), utc(1796032800.9)) == ("2026-11-30T10:00:00Z", "2026-11-30 10:00:00 UTC")
    monkeypatch.undo()
    time.tzset()
