# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The unit as the host's systemd has it, whatever its file says, and the processes that it runs."""

from __future__ import annotations

import pytest
from testinfra.host import Host

from ansible_collections.blackwell.inference.tests.hosts.deploy import instance
from ansible_collections.blackwell.inference.tests.hosts.unit import Unit
from ansible_collections.blackwell.inference.tests.testhost import host as hosts

CONFINEMENT = {
    "CapabilityBoundingSet": "",
    "LockPersonality": "yes",
    "NoNewPrivileges": "yes",
    "PrivateTmp": "yes",
    "ProtectControlGroups": "yes",
    "ProtectHome": "read-only",
    "ProtectHostname": "yes",
    "ProtectKernelLogs": "yes",
    "ProtectKernelModules": "yes",
    "ProtectKernelTunables": "yes",
    "ProtectSystem": "strict",
    "RestrictNamespaces": "yes",
    "RestrictSUIDSGID": "yes",
    "UMask": "0027",
}


def test_engine_runs(unit: Unit) -> None:
    assert unit.show("ActiveState") == "active"


def test_engine_starts_at_boot(unit: Unit) -> None:
    assert unit.show("UnitFileState") == "enabled"


def test_engine_has_its_own_user(unit: Unit) -> None:
    assert unit.show("User") == instance.USER


def test_engine_has_its_own_group(unit: Unit) -> None:
    assert unit.show("Group") == instance.USER


def test_stop_ends_every_process_of_the_engine(unit: Unit) -> None:
    assert unit.show("KillMode") == "control-group"


def test_host_cache_may_be_pinned(unit: Unit) -> None:
    assert unit.show("LimitMEMLOCK") == "infinity"


def test_ranks_may_open_many_files(unit: Unit) -> None:
    assert unit.show("LimitNOFILE") == "1048576"


def test_engine_may_start_as_many_threads_as_it_wants(unit: Unit) -> None:
    assert unit.show("TasksMax") == "infinity"


def test_engine_may_take_no_more_memory_than_the_plan_counts_on(unit: Unit) -> None:
    assert unit.show("MemoryMax") == str(instance.MEMORY_MAX)


def test_rank_killed_for_memory_ends_the_whole_engine(unit: Unit) -> None:
    assert unit.show("OOMPolicy") == "stop"


def test_crashed_engine_is_started_again(unit: Unit) -> None:
    assert unit.show("Restart") == "on-failure"


def test_engine_has_not_crashed_since_it_was_deployed(unit: Unit) -> None:
    assert unit.show("NRestarts") == "0"


def test_systemd_has_loaded_the_unit_that_lies_on_the_disk(unit: Unit) -> None:
    assert unit.show("NeedDaemonReload") == "no"


def test_systemd_loads_the_unit_from_where_it_was_written(unit: Unit) -> None:
    assert unit.show("FragmentPath") == instance.UNIT_FILE


def test_no_drop_in_changes_the_unit(unit: Unit) -> None:
    assert unit.show("DropInPaths") == ""


def test_systemd_understands_every_line_of_the_unit(host: Host) -> None:
    checked = host.run("systemd-analyze verify --man=no %s", instance.UNIT)
    assert [line for line in checked.stderr.splitlines() if instance.UNIT in line] == []


@pytest.mark.parametrize("name", CONFINEMENT)
def test_engine_stays_confined(unit: Unit, name: str) -> None:
    assert unit.show(name) == CONFINEMENT[name]


def test_engine_is_started_from_the_environment_of_its_version(unit: Unit, machine: hosts.Host) -> None:
    assert f"path={instance.engine_path(machine.name)}/bin/python " in unit.show("ExecStart")


def test_every_process_of_the_engine_runs_as_its_user(unit: Unit) -> None:
    owners = unit.owners()
    assert owners
    assert {pid: user for pid, user in owners.items() if user != instance.USER} == {}
