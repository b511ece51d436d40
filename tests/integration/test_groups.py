# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two workers make no machine twice for nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.tests.integration.conftest import GROUPS, group_of

HERE = Path(__file__).parent


@pytest.mark.parametrize("machine", ["vm", "testhost", "untouched"])
def test_those_who_share_a_machine_have_one_worker(request: pytest.FixtureRequest, machine: str) -> None:
    users = [item.nodeid for item in request.session.items if machine in getattr(item, "fixturenames", ())]
    assert {group_of(nodeid) for nodeid in users} <= {machine}, users


def test_every_group_has_tests_that_are_there() -> None:
    for beginning in (beginning for beginnings in GROUPS.values() for beginning in beginnings):
        file, _colons, name = beginning.partition("::")
        assert f"def {name or 'test_'}" in (HERE / file).read_text(encoding="utf-8"), beginning


@pytest.mark.parametrize(
    ("nodeid", "group"),
    [
        ("tests/integration/release/test_kernel_log.py::test_the_kernel_log_of_a_machine", "vm"),
        ("tests/integration/release/test_kernel_log.py::test_a_container_has_no_kernel_log[bookworm]", "testhost"),
        ("tests/integration/loop/test_killed.py::test_killed_at_a_telling_point[a-1.5]", "kimi"),
        ("tests/integration/release/test_holders.py::test_what_is_told_of_a_holder", "release/test_holders.py"),
    ],
    ids=["one test", "rest of its file", "file", "file without a shared machine"],
)
def test_the_group_of_a_test(nodeid: str, group: str) -> None:
    assert group_of(nodeid) == group
