# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the play left behind about the instance, for people and for monitoring."""

from __future__ import annotations

import json
from typing import Any

import pytest
from testinfra.host import Host

from ansible_collections.blackwell.inference.tests.hosts.deploy import instance
from ansible_collections.blackwell.inference.tests.testhost import host as hosts

FILES_WITH_THE_KEY = """
import pathlib, sys
files = [file for root in sys.argv[1:] for file in [pathlib.Path(root), *pathlib.Path(root).rglob("*")] if file.is_file()]
print(json.dumps(sorted(str(file) for file in files if key.encode() in file.read_bytes())))
"""
LEVELS = ["unit", "api", "server_info", "journal", "host_memory"]


def test_server_passed_its_verification(verdict: Any) -> None:
    assert verdict["passed"] is True, failed_checks(verdict["levels"])


def test_every_level_was_verified(verdict: Any) -> None:
    assert [level["level"] for level in verdict["levels"]] == LEVELS


@pytest.mark.parametrize("name", LEVELS)
def test_no_check_failed_on_level(verdict: Any, name: str) -> None:
    assert failed_checks([level for level in verdict["levels"] if level["level"] == name]) == []


@pytest.mark.parametrize("name", LEVELS)
def test_some_check_passed_on_level(verdict: Any, name: str) -> None:
    checks = [check for level in verdict["levels"] if level["level"] == name for check in level["checks"]]
    assert "passed" in [check["outcome"] for check in checks]


def test_plan_is_recorded_for_the_engine_that_runs(host: Host, machine: hosts.Host) -> None:
    plan = json.loads(host.file(f"{instance.RECORDS}/plan.json").content_string)
    assert plan["engine"]["version"] == instance.ENGINES[machine.name]


def test_monitoring_learns_what_is_deployed(host: Host) -> None:
    metric = host.file(f"{instance.RECORDS}/instance.prom").content_string.splitlines()[-1]
    labels = f'instance_name="{instance.NAME}",model="{instance.MODEL}",port="{instance.PORT}"'
    assert metric == f"inference_instance_info{{{labels}}} 1"


def test_key_stands_nowhere_but_in_the_config(host: Host) -> None:
    everywhere = ("/etc/sglang", instance.UNIT_FILE, instance.PROGRAMS, instance.RECORDS)
    found = host.check_output("python3 -c %s %s %s %s %s", instance.KEY + FILES_WITH_THE_KEY, *everywhere)
    assert json.loads(found) == [instance.CONFIG]


def failed_checks(levels: Any) -> list[Any]:
    return [check for level in levels for check in level["checks"] if check["outcome"] == "failed"]
