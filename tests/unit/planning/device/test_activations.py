# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a prefill chunk takes beside all pools."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB
from ansible_collections.blackwell.inference.plugins.module_utils.model.attention import MlaGeometry
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.graphs import activation_line


def test_more_than_what_killed_the_design_host_and_less_than_what_served(request_for, case):
    size = activation_line(request_for(), 8192).size_bytes / GIB
    served, died = (case["starts"][index]["free_after_graphs_gib"] for index in (1, 2))
    assert died < size < served


def test_it_grows_with_the_chunk(request_for):
    assert activation_line(request_for(), 16384).size_bytes == 2 * activation_line(request_for(), 8192).size_bytes


@pytest.mark.parametrize(("context", "expected"), [(262_144, 2.0), (1024, 1.0 + 1024 * 4 / (8 * 7168 * 2))])
def test_an_indexer_scores_the_context_in_at_most_half_of_what_is_free(request_for, kimi, context, expected):
    sparse = replace(kimi, attention=MlaGeometry(512, 64, 64, 128))
    plain = activation_line(request_for(context_length=context), 8192).size_bytes
    line = activation_line(request_for(model=sparse, context_length=context), 8192)
    assert line.size_bytes == pytest.approx(plain * expected)
    assert line.source.endswith("and the indexer's scores against the whole context")


def test_a_measured_figure_beats_the_estimate(request_for):
    line = activation_line(request_for(calibration={"activation_bytes": 7, "measured": "2026-02-24"}), 8192)
    assert (line.size_bytes, line.source) == (7, "measured: 2026-02-24")
