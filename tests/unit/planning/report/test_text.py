# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One set of rows for the terminal, the diff, the file and the page."""

from __future__ import annotations

import json

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB
from ansible_collections.blackwell.inference.plugins.module_utils.planning.report.tables import plan_tables, pool_rows
from ansible_collections.blackwell.inference.plugins.module_utils.planning.report.text import report_lines

CELL = 70272


def test_a_plan_that_was_kept_as_json_gives_the_same_lines(plan):
    planned = plan(hicache_ratio=2.0, mem_fraction_static=0.93, force=["headroom"]).as_dict()
    assert report_lines(json.loads(json.dumps(planned))) == report_lines(planned)


@pytest.mark.parametrize("options", [{}, {"hicache_ratio": 4.0}, {"mem_fraction_static": 0.93, "force": ["headroom"]}])
def test_every_table_adds_up(plan, options):
    tables = plan_tables(plan(**options).as_dict())
    assert [table.key for table in tables] == ["gpu", "host"]
    for table in tables:
        assert table.capacity.size_bytes - table.taken_bytes == table.result.size_bytes


def test_a_plan_that_lacks_its_ledgers_has_no_tables():
    assert plan_tables({"gpu": None, "host": {"lines": []}}) == ()


def test_pools_of_a_plan_that_names_none(plan):
    rows = pool_rows(plan(hicache_ratio=4.0).as_dict() | {"pools": None})
    assert [(row.place, row.kind, row.slots, row.slot_bytes) for row in rows] == [
        ("GPU", "full", 159294, CELL),
        ("host cache", "full", 637177, CELL),
    ]
    assert all(row.slots * row.slot_bytes == row.size_bytes for row in rows)


def test_pools_that_a_plan_names():
    pools = [{"name": "state pool", "kind": "state", "slots": 40, "slot_bytes": 1 << 20, "size_bytes": 40 << 20}]
    cache = {"enabled": True, "pools": [{"name": "state pool", "kind": "state", "slots": 3, "bytes": 10}]}
    rows = pool_rows({"device": "cpu", "pools": pools, "host_cache": cache})
    assert [(row.place, row.name, row.slot_bytes, row.size_bytes) for row in rows] == [
        ("RAM", "state pool", 1 << 20, 40 << 20),
        ("host cache", "state pool", None, 10),
    ]


def test_choices_say_who_why_and_what_they_cost(plan):
    told = {"name": "hicache_size", "value": 48, "by": "operator", "why": "as asked", "costs": "384 GB in all"}
    data = plan().as_dict() | {"choices": [told, {**told, "name": "page_size", "value": 1, "costs": ""}]}
    assert [line for line in report_lines(data) if line.startswith("Decided")] == [
        "Decided: hicache_size 48 (operator, as asked); costs: 384 GB in all",
        "Decided: page_size 1 (operator, as asked)",
    ]


def test_what_free_will_show(plan):
    data = plan().as_dict()
    shown = {"total_gib": 449.0, "used_gib": 371.0, "shared_gib": 0.2, "available_gib": 78.0, "tolerance_gib": 2.0}
    data["host"] = {**data["host"], "available_after_start_bytes": 78 * GIB, "free_h": shown}
    assert (
        "Host after the start: 78.00 GiB available; free -h will show total 449Gi, used 371Gi, shared 0.2Gi, available 78Gi, give or take 2Gi"
        in report_lines(data)
    )
