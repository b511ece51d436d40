# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which host cache is planned, and what stands against one."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import PlanningError


def refusals(plan, **options):
    with pytest.raises(PlanningError) as refused:
        plan(**options)
    return {row["name"]: row for row in refused.value.details["refusals"]}


def test_no_cache_unless_asked_for(plan):
    cache = plan().as_dict()["host_cache"]
    assert cache == {
        "enabled": False,
        "tokens": 0,
        "bytes_per_rank": 0,
        "bytes_total": 0,
        "page_size": 1,
        "size_gb": None,
        "ratio": None,
        "size_gb_per_rank_that_fits": 53,
        "pools": [],
    }


def test_a_size_turns_the_cache_on(plan):
    assert plan(hicache_size=48).settings["hicache"] is True


def test_without_size_and_ratio_the_default_ratio_is_told_to_the_engine(plan):
    planned = plan(hicache=True)
    assert planned.settings["hicache_ratio"] == 2.0
    assert "Neither hicache_size nor hicache_ratio is given: the engine's default ratio of 2 is taken." in planned.notes


def test_where_the_default_does_not_fit_the_largest_size_is_taken(plan):
    planned = plan(hicache=True, hardware={"ram_gib": 200, "ram_available_gib": 196})
    assert planned.settings["hicache_size"] == planned.size_gb_that_fits == 20
    assert "hicache_ratio" not in planned.settings


def test_a_size_beats_a_ratio_and_the_plan_says_so(plan):
    planned = plan(hicache_size=48, hicache_ratio=4.0)
    assert planned.pool.tokens == 683061
    assert "hicache_ratio" not in planned.settings
    assert "hicache_size 48 beats hicache_ratio 4, which is not used." in planned.notes


def test_a_ratio_multiplies_the_devices_tokens(plan):
    planned = plan(hicache_ratio=3.0)
    assert planned.pool.tokens == int(planned.tokens * 3.0) + 1


@pytest.mark.parametrize("ratio", [0.5, 1.0])
def test_up_to_0_5_14_the_host_must_hold_more_than_the_device(plan, ratio):
    found = refusals(plan, hicache_ratio=ratio)["host_cache_too_small"]
    tokens = int(159294 * ratio) + 1
    assert found["message"] == (
        f"hicache_ratio {ratio:g} makes a host cache of {tokens:,} tokens beside 159,294 tokens on the device; SGLang 0.5.9 starts only when the host "
        "holds more. Set hicache_ratio above 1 or hicache_size to more than 11, or set hicache to false."
    )
    assert found["overridable"] is False


def test_a_size_smaller_than_the_device_pool_is_refused_too(plan):
    assert "hicache_size 11 makes a host cache of" in refusals(plan, hicache_size=11)["host_cache_too_small"]["message"]
    assert plan(hicache_size=12).pool.tokens > 159294


@pytest.mark.parametrize("version", ["0.5.15", "0.5.23"])
def test_later_a_small_host_cache_is_only_noted(plan, version):
    planned = plan(version=version, hicache_ratio=1.0, page_size=1)
    assert planned.pool is not None
    smaller = plan(version=version, hicache_ratio=0.5)
    assert any(note.startswith("The host cache holds") for note in smaller.notes)


def test_what_only_goes_at_the_reserve_can_be_forced(plan):
    options = {"hicache_size": 54, "hardware": {"ram_available_gib": 445}}
    assert refusals(plan, **options)["host_memory"]["overridable"] is True
    assert plan(**options, force=["host_memory"]).as_dict()["forced"] == ["host_memory"]


def test_what_is_more_than_the_host_cannot_be_forced(plan):
    assert refusals(plan, hicache_size=300, force=["host_memory"])["host_memory"]["overridable"] is False


def test_the_engines_own_check_divides_since_0_5_19(plan):
    """(445 GiB - 10 GiB) / 8 ranks are 58.38 GB: more than that the engine refuses, whatever the reserve says."""
    options = {"hicache_size": 59, "host_reserve_gib": 0, "hardware": {"ram_gib": 500, "ram_available_gib": 445}}
    assert refusals(plan, version="0.5.19", **options)["host_memory"]["overridable"] is False
    roomy = {**options, "hardware": {"ram_gib": 900, "ram_available_gib": 800}}
    assert plan(version="0.5.19", **roomy).pool.size_gb == 59


def test_where_nothing_larger_than_the_device_fits_the_refusal_says_so(plan):
    found = refusals(plan, hicache_ratio=4.0, hardware={"ram_gib": 120, "ram_available_gib": 110})["host_memory"][
        "message"
    ]
    assert found.endswith(
        "No host cache larger than the device's pool fits: set hicache to false, or give the host more memory."
    )
    assert "44.78 GB on each of 8 ranks, 358.21 GB in all" in found


def test_a_size_too_small_to_start_is_not_chosen(plan):
    found = refusals(plan, hicache=True, hardware={"ram_gib": 120, "ram_available_gib": 110})
    assert list(found) == ["host_memory"]
    assert found["host_memory"]["message"].startswith("hicache_ratio 2 asks for 22.39 GB on each of 8 ranks")


def test_a_limit_of_locked_memory_stops_it(plan):
    options = {"hicache_size": 48, "hardware": {"memlock_gib": 8}}
    found = refusals(plan, **options)["memlock"]
    assert found["message"] == (
        "Each rank locks 48.00 GB for the host cache; here a process may lock 8.59 GB, a limit that the unit cannot lift. "
        "Set the container's limit of locked memory to unlimited (lxc.prlimit.memlock: unlimited), or set hicache to false."
    )
    assert found["overridable"] is True
    assert plan(**options, force=["memlock"]).pool is not None
    assert plan(hardware={"memlock_gib": 8}).pool is None


def test_a_cgroup_limit_is_the_capacity(plan):
    found = refusals(plan, hicache_size=48, hardware={"cgroup_limit_gib": 256})["host_memory"]["message"]
    assert "this host has 274.88 GB available (cgroup)" in found
    assert "At most 28 GB per rank fit" in found
