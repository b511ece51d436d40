# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Batches and lengths that are captured."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.graphs import (
    decode_batches,
    prefill_sizes,
)
from ansible_collections.blackwell.inference.tests.unit.planning.device.pool_cases import rules_of


@pytest.mark.parametrize(
    ("largest", "speculative", "version", "count", "last"),
    [
        pytest.param(512, False, "0.5.9", 52, (480, 496, 512), id="512"),
        pytest.param(4, False, "0.5.9", 3, (1, 2, 4), id="a small one"),
        pytest.param(10, False, "0.5.9", 4, (2, 4, 8), id="10 has no place up to 0.5.9"),
        pytest.param(10, False, "0.5.10", 5, (4, 8, 10), id="and is appended since"),
        pytest.param(48, True, "0.5.9", 23, (40, 44, 48), id="drafts: finer steps"),
        pytest.param(0, False, "0.5.23", 0, (), id="none"),
    ],
)
def test_decode_batches(largest, speculative, version, count, last):
    found = decode_batches(largest, speculative, rules_of(version))
    assert (len(found), found[-3:]) == (count, last)


def test_prefill_sizes():
    assert (len(prefill_sizes(8192)), prefill_sizes(8192)[-2:]) == (58, (7680, 8192))
    assert prefill_sizes(30) == (4, 8, 12, 16, 20, 24, 28)
