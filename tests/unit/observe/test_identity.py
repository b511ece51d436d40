# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who a process is, from /proc."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.identity import (
    Identity,
    Standing,
    control_group_of,
    lineage_of,
    read_identity,
    standing_of,
    start_of,
)

STAT = "{pid} ({name}) {state} {parent} 1 1 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 {start} 1 1 18446744073709551615"


def add(
    proc: Path,
    pid: int,
    name: str = "python3",
    state: str = "S",
    parent: int = 1,
    executable: str | None = "/usr/bin/python3",
    group: str = "0::/system.slice/a.service",
    threads: tuple[tuple[int, str, str], ...] = (),
) -> None:
    """`threads`: number, state and what it waits in."""
    folder = proc / str(pid)
    for task, letter, channel in ((pid, state, "0"), *threads):
        place = folder / "task" / str(task)
        place.mkdir(parents=True)
        (place / "stat").write_text(STAT.format(pid=task, name=name, state=letter, parent=parent, start=7000))
        (place / "wchan").write_text(channel)
        (place / "cgroup").write_text(f"{group}\n")
    (folder / "stat").write_text(STAT.format(pid=pid, name=name, state=state, parent=parent, start=7000))
    (folder / "status").write_text(f"Name:\t{name}\nState:\t{state}\nUid:\t998\t0\t0\t0\nGid:\t1\t1\t1\t1\n")
    (folder / "cgroup").write_text(f"{group}\n")
    if executable:
        (folder / "exe").symlink_to(executable)


@pytest.mark.parametrize("name", ["python3", "a b) S 1 (c", "x\ny", "\rUid:\t0", "\x0bUid:", "\u2028Uid:\t0"])
def test_the_name_of_a_process_may_hold_anything(tmp_path: Path, name: str) -> None:
    add(tmp_path, 12, name)
    assert read_identity(12, tmp_path) == Identity(12, 7000, "/system.slice/a.service", 998, "/usr/bin/python3")


def test_what_was_removed_since_keeps_its_name(tmp_path: Path) -> None:
    add(tmp_path, 12, executable="/usr/bin/python3 (deleted)", group="0::/system.slice/a.service (deleted)")
    assert read_identity(12, tmp_path) == Identity(12, 7000, "/system.slice/a.service", 998, "/usr/bin/python3")


def test_a_path_that_is_no_text_is_written_out(tmp_path: Path) -> None:
    add(tmp_path, 12, executable=os.fsdecode(b"/home/o\xff/python3"))
    identity = read_identity(12, tmp_path)
    assert identity is not None
    assert identity.executable == r"/home/o\xff/python3"


def test_one_that_ends_has_no_executable(tmp_path: Path) -> None:
    add(tmp_path, 12, state="Z", executable=None)
    assert read_identity(12, tmp_path) == Identity(12, 7000, "/system.slice/a.service", 998, None)


def test_no_process(tmp_path: Path) -> None:
    assert (read_identity(12, tmp_path), start_of(12, tmp_path), standing_of(12, tmp_path)) == (None, None, None)
    (tmp_path / "12").mkdir()  # it goes while it is read
    assert read_identity(12, tmp_path) is None


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("0::/a.slice/b:c.service\n", "/a.slice/b:c.service"),
        ("4:memory:/m\n1:name=systemd:/s\n0::/u\n", "/u"),
        ("4:memory:/m\n1:name=systemd:/s\n", "/s"),
        ("4:memory:/m\n", "/"),
        ("0::/\n", "/"),
        ("", "/"),
        ("0::/a.slice/\r0::/b.service\n", "/a.slice/\r0::/b.service"),
        ("0::/a.slice/\x0bb\n", "/a.slice/\x0bb"),
    ],
    ids=["version 2", "both", "version 1", "no systemd", "the root", "unreadable", "forged", "odd"],
)
def test_the_control_group(tmp_path: Path, lines: str, expected: str) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "cgroup").write_bytes(lines.encode())
    assert control_group_of(7, tmp_path) == expected


def test_the_group_of_threads_that_live_on_in_version_1(tmp_path: Path) -> None:
    add(tmp_path, 12, state="Z", group="1:name=systemd:/", threads=((15, "S", "0"),))
    (tmp_path / "12/task/15/cgroup").write_text("4:memory:/\n1:name=systemd:/system.slice/a.service\n")
    assert control_group_of(12, tmp_path) == "/system.slice/a.service"


def test_the_line_of_parents(tmp_path: Path) -> None:
    for pid, parent in ((40, 30), (30, 20), (20, 1), (99, 30)):
        add(tmp_path, pid, parent=parent)
    assert lineage_of(40, tmp_path) == {40, 30, 20, 1}
    assert lineage_of(1, tmp_path) == {1}


def test_a_parent_in_another_namespace_ends_the_line(tmp_path: Path) -> None:
    add(tmp_path, 40, parent=0)
    assert lineage_of(40, tmp_path) == {40, 1}


def test_where_a_process_stands_is_where_its_first_live_task_stands(tmp_path: Path) -> None:
    add(tmp_path, 12, state="Z", threads=((15, "X", "0"), (16, "D", "uvm_release"), (17, "S", "futex_wait")))
    assert standing_of(12, tmp_path) == Standing("D", "uvm_release")
    add(tmp_path, 20, state="R")
    assert standing_of(20, tmp_path) == Standing("R", None)
    add(tmp_path, 30, state="Z")
    assert standing_of(30, tmp_path) is None


def test_ourselves() -> None:
    identity = read_identity(os.getpid())
    assert identity is not None
    assert (identity.uid, identity.executable) == (os.getuid(), os.readlink("/proc/self/exe"))
    assert {1, os.getppid(), os.getpid()} <= lineage_of(os.getpid())
    started = start_of(os.getpid())
    assert started is not None
    assert Path("/proc/1").stat().st_ctime - 60 < started < time.time()
