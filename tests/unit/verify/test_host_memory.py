# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Level `host_memory`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB, MIB
from ansible_collections.blackwell.inference.plugins.module_utils.verify.host_memory import check_host_memory
from ansible_collections.blackwell.inference.plugins.module_utils.wait.progress import Counters
from ansible_collections.blackwell.inference.tests.unit.verify.design_host import (
    HOST_MEMORY_FACTS,
    failed,
    skipped,
    with_plan,
)

SMALL = Counters(memory={"anonymous": 40 * GIB, "file": 0, "shared": 0})


def test_the_design_hosts_memory_is_as_planned() -> None:
    assert failed(check_host_memory(HOST_MEMORY_FACTS)) == {}
    assert skipped(check_host_memory(HOST_MEMORY_FACTS)) == {}


@pytest.mark.parametrize(
    ("change", "name", "message"),
    [
        (
            {"available_bytes": 75 * GIB},
            "MemAvailable",
            "/proc/meminfo shows MemAvailable 75.00 GiB; 78.00 GiB was expected, give or take 2.00 GiB (other processes come and go). "
            "See what else takes memory on this host (the ZFS cache, other services), or whether the host cache is pinned at all.",
        ),
        (
            {"available_bytes": None},
            "MemAvailable",
            "/proc/meminfo shows no MemAvailable; 78.00 GiB was expected. "
            "See what else takes memory on this host (the ZFS cache, other services), or whether the host cache is pinned at all.",
        ),
        (
            {"memory": replace(HOST_MEMORY_FACTS.memory, swap_bytes=65 * MIB)},
            "swap in use by the unit",
            "/proc/PID/status shows swap in use by the unit 0.06 GiB; 0.00 GiB was expected, give or take 0.06 GiB "
            "(the kernel may swap out pages that were touched once, at the import of a library). "
            "A server that is swapped out stalls; free memory on the host, lower vm.swappiness, then restart the unit.",
        ),
        (
            {"oom_kills": 1},
            "processes killed for want of memory",
            "memory.events shows processes killed for want of memory 1; 0 was expected. "
            "A rank or helper was killed; raise the unit's memory limit or lower the host cache, then restart it.",
        ),
    ],
    ids=["less available", "no meminfo", "swapped", "killed"],
)
def test_one_wrong_number_fails_by_name(change: dict[str, Any], name: str, message: str) -> None:
    assert failed(check_host_memory(replace(HOST_MEMORY_FACTS, **change))) == {name: message}


def test_a_host_cache_that_is_not_pinned() -> None:
    checks = check_host_memory(replace(HOST_MEMORY_FACTS, memory=SMALL, available_bytes=400 * GIB))
    assert failed(checks)["pinned host cache"] == (
        "/proc/meminfo shows 46.82 GB taken by the server; a host cache of 358.21 GB was expected to be pinned. "
        "It is smaller than planned, or not pinned and will be slow; read the journal's lines on host memory."
    )


def test_pinned_memory_may_show_in_meminfo_alone() -> None:
    assert failed(check_host_memory(replace(HOST_MEMORY_FACTS, memory=SMALL))) == {}


def test_what_cannot_be_seen_is_skipped() -> None:
    assert skipped(check_host_memory(with_plan({"device": "cpu"}, HOST_MEMORY_FACTS))) == {
        "pinned host cache": "skipped: device cpu"
    }
    assert skipped(check_host_memory(with_plan({"host_cache": {"enabled": False}}, HOST_MEMORY_FACTS))) == {
        "pinned host cache": "skipped: the plan has no host cache"
    }
    assert skipped(check_host_memory(replace(HOST_MEMORY_FACTS, oom_kills=None))) == {
        "processes killed for want of memory": "skipped: this host's control groups do not count them"
    }


def test_a_unit_that_takes_more_than_was_planned() -> None:
    grown = Counters(memory={"anonymous": 77 * GIB, "file": 90 * GIB, "shared": 333 * GIB})
    assert failed(check_host_memory(replace(HOST_MEMORY_FACTS, memory=grown))) == {
        "memory of the unit": "/proc/PID/status shows memory of the unit 410.00 GiB; at most 404.17 GiB was expected. "
        "It takes more than was planned and may be killed for it; compare the journal's host pools with the plan's lines."
    }


def test_a_container_that_shows_the_whole_machines_memory_proves_nothing() -> None:
    facts = replace(HOST_MEMORY_FACTS, available_bytes=70 * GIB, meminfo_is_shared=True)
    assert failed(check_host_memory(facts)) == {}
    assert skipped(check_host_memory(facts)) == {
        "MemAvailable": "skipped: this container is shown the memory of the whole machine, which others move too: 70.00 GiB"
    }


NEIGHBOUR = {"sglang-other.service": 40 * GIB}
LATER = 86_400.0


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"available_bytes": 38 * GIB, "other_engines": NEIGHBOUR},
            "40.00 GiB less available than planned, taken by others since (of these: sglang-other.service 40.00 GiB); "
            "this unit holds what was planned, and the host keeps its reserve",
        ),
        (
            {"available_bytes": 28 * GIB, "zfs_arc_bytes": 50 * GIB},
            "50.00 GiB less available than planned, taken by others since (of these: the ZFS cache 50.00 GiB); "
            "this unit holds what was planned, and the host keeps its reserve",
        ),
        (
            {"available_bytes": 75 * GIB, "seconds_since_start": LATER},
            "3.00 GiB less available than planned, taken by others since (of these: none that is known); "
            "this unit holds what was planned, and the host keeps its reserve",
        ),
        (
            {"available_bytes": 75 * GIB, "seconds_since_start": None},
            "3.00 GiB less available than planned, taken by others since (of these: none that is known); "
            "this unit holds what was planned, and the host keeps its reserve",
        ),
        (
            {"available_bytes": 85 * GIB, "seconds_since_start": LATER},
            "7.00 GiB more available than planned, given back by others since (of these: none that is known); "
            "this unit holds what was planned, and the host keeps its reserve",
        ),
    ],
    ids=["another engine", "the ZFS cache", "somebody, later", "somebody, after the journal rotated", "given back"],
)
def test_memory_that_others_move_is_no_fault_of_this_server(change: dict[str, Any], why: str) -> None:
    checks = check_host_memory(replace(HOST_MEMORY_FACTS, **change))
    assert failed(checks) == {}
    assert skipped(checks) == {"MemAvailable": f"skipped: {why}"}


def test_another_engine_that_was_there_before_explains_nothing() -> None:
    row = {"unit": "sglang-other.service", "memory_bytes": 40 * GIB}
    facts = with_plan({"observation": {"other_engines": [row]}}, HOST_MEMORY_FACTS)
    assert list(failed(check_host_memory(replace(facts, available_bytes=38 * GIB, other_engines=NEIGHBOUR)))) == [
        "MemAvailable"
    ]


def test_a_host_without_its_reserve_fails_whoever_took_it() -> None:
    facts = replace(HOST_MEMORY_FACTS, available_bytes=9 * GIB, other_engines={"sglang-other.service": 69 * GIB})
    assert failed(check_host_memory(facts)) == {
        "MemAvailable": "/proc/meminfo shows MemAvailable 9.00 GiB; at least 10.00 GiB was expected, which the host keeps in reserve. This unit holds "
        "what was planned, and others took 69.00 GiB since (of these: sglang-other.service 69.00 GiB): free memory on the host, or it kills what it needs."
    }


def test_a_reserve_that_was_forced_away_is_not_asked_for() -> None:
    host = {"host.available_after_start_bytes": 6 * GIB, "host.reserve_bytes": 10 * GIB}
    facts = with_plan(host, replace(HOST_MEMORY_FACTS, seconds_since_start=LATER))
    assert failed(check_host_memory(replace(facts, available_bytes=9 * GIB))) == {}
    assert list(failed(check_host_memory(replace(facts, available_bytes=3 * GIB)))) == ["MemAvailable"]


def test_a_unit_that_is_not_as_planned_cannot_put_it_on_others() -> None:
    grown = Counters(memory={"anonymous": 77 * GIB, "file": 0, "shared": 333 * GIB})
    facts = replace(HOST_MEMORY_FACTS, memory=grown, available_bytes=42 * GIB, seconds_since_start=LATER)
    assert list(failed(check_host_memory(facts))) == ["MemAvailable", "memory of the unit"]


def test_what_others_took_is_not_taken_for_the_pinned_host_cache() -> None:
    facts = replace(
        HOST_MEMORY_FACTS, memory=SMALL, available_bytes=78 * GIB, other_engines={"sglang-other.service": 300 * GIB}
    )
    assert "pinned host cache" in failed(check_host_memory(facts))
