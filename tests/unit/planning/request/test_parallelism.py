# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers of pipeline stages."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.parallelism import stages
from ansible_collections.blackwell.inference.tests.unit.planning.device.pool_cases import rules_of


@pytest.mark.parametrize(
    ("layers", "pp", "version", "counts"),
    [
        (61, 1, "0.5.23", [61]),
        (61, 4, "0.5.6", [15, 15, 15, 16]),
        (62, 4, "0.5.23", [15, 15, 16, 16]),
        (62, 4, "0.5.5", [15, 15, 15, 17]),
        (64, 4, "0.5.5", [16, 16, 16, 16]),
    ],
)
def test_layers_of_stages(layers, pp, version, counts):
    found = stages(layers, pp, rules_of(version))
    assert [len(stage) for stage in found] == counts
    assert [layer for stage in found for layer in stage] == list(range(layers))
