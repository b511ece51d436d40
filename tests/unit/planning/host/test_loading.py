# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What loading takes of host memory, beside the page cache."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import PlanningError
from ansible_collections.blackwell.inference.plugins.module_utils.planning.host.numa_and_loading import (
    loader_peak_bytes,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.planner import plan_memory

SHARD = 547_000_000_000 // 64
COPY = {"weight-loader-disable-mmap": True}
EXTRA = "model-loader-extra-config"


@pytest.mark.parametrize(
    ("version", "arguments", "shards"),
    [
        pytest.param("0.5.23", {}, 0, id="mapped shards are page cache"),
        pytest.param("0.5.9", COPY, 2, id="one thread up to 0.5.9"),
        pytest.param("0.5.10", COPY, 17, id="eight threads since 0.5.10"),
        pytest.param("0.5.23", {**COPY, EXTRA: '{"enable_multithread_load": false}'}, 2, id="threads turned off"),
        pytest.param("0.5.23", {**COPY, EXTRA: '{"num_threads": 2}'}, 5, id="two threads"),
        pytest.param(
            "0.5.9", {**COPY, EXTRA: {"enable_multithread_load": True, "num_threads": 4}}, 9, id="threads turned on"
        ),
        pytest.param("0.5.9", {**COPY, EXTRA: '{"num_threads": 4}'}, 2, id="threads that are not on do not count"),
        pytest.param("0.5.23", {**COPY, EXTRA: "{"}, 17, id="not JSON"),
        pytest.param("0.5.23", {**COPY, EXTRA: "[1]"}, 17, id="no dictionary"),
    ],
)
def test_shards_of_all_ranks(request_for, version, arguments, shards):
    assert loader_peak_bytes(request_for(version=version, arguments=arguments), 8) == 8 * shards * SHARD


def test_a_small_checkpoint_is_never_there_more_than_twice(request_for, llama):
    request = request_for(version="0.5.23", model=llama, arguments=COPY)
    assert loader_peak_bytes(request, 2) == 2 * 2 * llama.weights.total_bytes


def test_more_than_the_host_holds_is_refused(request_for):
    with pytest.raises(PlanningError) as refused:
        plan_memory(request_for(version="0.5.23", arguments=COPY))
    (row,) = refused.value.details["refusals"]
    assert row["name"] == "host_memory"
    assert row["message"] == (
        "arguments has weight-loader-disable-mmap, with which 8 ranks hold about 1,162.38 GB of shards while they load; this host has 441.95 GB beside the "
        "engine's processes, and host_reserve_gib 10 keeps 10.74 GB. Remove weight-loader-disable-mmap, or set model-loader-extra-config to "
        "'{\"enable_multithread_load\": false}'."
    )


def test_what_fits_is_told(request_for):
    planned = plan_memory(request_for(arguments=COPY, hicache_size=48))
    assert (
        "While the weights are loaded, weight-loader-disable-mmap takes about 136.75 GB more; it is given back before the host cache is pinned."
        in planned.notes
    )
