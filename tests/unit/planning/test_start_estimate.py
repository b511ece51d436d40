# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a start takes."""

from __future__ import annotations

from ansible_collections.blackwell.inference.plugins.module_utils.planning.start_estimate import start_estimate


def test_weights_over_disk_speed_plus_pinning():
    start = start_estimate(547_000_000_000, 358_200_000_000, 64, 2e9, "cuda")
    assert start.as_dict() == {
        "weights_bytes": 547_000_000_000,
        "load_seconds": 274,
        "pin_seconds": 359,
        "other_seconds": 120,
        "shards": 64,
        "estimate_seconds": 753,
        "timeout_seconds": 753 * 12,
    }


def test_a_slower_disk_takes_longer():
    assert start_estimate(10**12, 0, 60, 5e8, "cuda").load_seconds == 2000


def test_a_start_ten_times_slower_is_not_cut_off():
    start = start_estimate(0, 0, 0, 2e9, "cpu")
    assert start.as_dict()["timeout_seconds"] > 10 * start.estimate_seconds > 0
