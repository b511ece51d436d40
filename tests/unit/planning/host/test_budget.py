# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host memory line by line."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB
from ansible_collections.blackwell.inference.plugins.module_utils.planning.host.budget import (
    engine_check_bytes,
    host_capacity,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.hardware import host_from_hardware
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.dialect import dialect_for


def host(**more):
    return host_from_hardware({"gpus": 0, "ram_gib": 100, "ram_available_gib": 90, **more})


@pytest.mark.parametrize(
    ("version", "limit", "expected_gib"),
    [
        pytest.param("0.5.9", None, 80, id="each rank sees the whole host"),
        pytest.param("0.5.18", None, 80, id="up to 0.5.18 too"),
        pytest.param("0.5.19", None, 20, id="since 0.5.19 divided by the ranks"),
        pytest.param("0.5.20", 50, 20, id="up to 0.5.20 blind for cgroups"),
        pytest.param("0.5.21", 50, 10, id="since 0.5.21 the cgroup counts"),
        pytest.param("0.5.9", 50, 80, id="0.5.9 is blind for cgroups"),
    ],
)
def test_the_engines_own_check(version, limit, expected_gib):
    more = {"cgroup_limit_gib": limit} if limit else {}
    assert engine_check_bytes(host(**more), 4, dialect_for(version).rules) == expected_gib * GIB


def test_the_check_is_never_negative():
    assert engine_check_bytes(host(ram_available_gib=1), 4, dialect_for("0.5.9").rules) == 0


@pytest.mark.parametrize(
    ("limit", "name", "gib", "source"),
    [
        (None, "available memory before the start", 90, "operator"),
        (95, "available memory before the start", 90, "operator"),
        (50, "memory the cgroup still allows", 50, "cgroup"),
    ],
)
def test_the_smaller_limit_is_the_capacity(limit, name, gib, source):
    more = {"cgroup_limit_gib": limit} if limit else {}
    line = host_capacity(host(**more))
    assert (line.name, line.size_bytes, line.source) == (name, gib * GIB, source)


def test_a_cgroup_does_not_lower_what_is_available_after_the_start(plan):
    planned = plan(hardware={"cgroup_limit_gib": 256}).host
    assert planned.ledger.capacity.size_bytes == 256 * GIB
    assert planned.available_after_start_bytes == 445 * GIB - planned.ledger.taken_bytes
