# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What other inference servers hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.deploy.state import other_engines

STATUS = "Name:\tsglang\nPPid:\t1\nVmRSS:\t{kib} kB\nRssAnon:\t{kib} kB\nRssFile:\t900000 kB\nRssShmem:\t1024 kB\n"


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """Two engines, one that ended, and a service of another kind."""
    units = {"sglang-a.service": [11], "sglang-b.service": [21, 22], "sglang-gone.service": [], "ssh.service": [31]}
    for unit, pids in units.items():
        group = tmp_path / "cgroup" / "system.slice" / unit
        group.mkdir(parents=True)
        (group / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in pids))
        for pid in pids:
            (tmp_path / "proc" / str(pid)).mkdir(parents=True)
            (tmp_path / "proc" / str(pid) / "status").write_text(STATUS.format(kib=pid * 1024))
    return tmp_path


def seen(host: Path, unit: str) -> dict[str, int]:
    return other_engines(unit, host / "state", (host / "cgroup",), host / "proc")


def test_the_memory_of_every_other_engine_that_runs(host: Path) -> None:
    assert seen(host, "sglang-a.service") == {"sglang-b.service": (21 + 22 + 2) << 20}
    assert seen(host, "sglang-c.service") == {"sglang-a.service": 12 << 20, "sglang-b.service": (21 + 22 + 2) << 20}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"host": {"lines": [{"size_bytes": 1 << 30}, {"size_bytes": 1 << 20}]}}, (1 << 30) + (1 << 20)),
        ({"host": {"lines": [{"size_bytes": 1}]}}, 12 << 20),
        ({"host": {"lines": 7}}, 12 << 20),
        ([1], 12 << 20),
    ],
    ids=["it still loads, or pins what does not show", "it holds more than planned", "edited", "a list"],
)
def test_what_another_engine_was_planned_to_take_counts(host: Path, record: object, expected: int) -> None:
    (host / "state" / "a").mkdir(parents=True)
    (host / "state" / "a" / "plan.json").write_text(json.dumps(record))
    assert seen(host, "sglang-b.service") == {"sglang-a.service": expected}


def test_no_control_groups(tmp_path: Path) -> None:
    assert seen(tmp_path, "sglang-a.service") == {}
