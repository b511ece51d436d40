# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared memory, and whether somebody still has it."""

from __future__ import annotations

import os
import socket

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.memory import (
    Segment,
    device_of,
    marked,
    read_segments,
)


def test_only_files_are_segments_and_all_are_taken_as_referenced(tmp_path):
    (tmp_path / "nccl-b").write_bytes(b"123")
    (tmp_path / "nccl-a").write_bytes(b"")
    os.utime(tmp_path / "nccl-b", (0, 1_700_000_000.5))
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("nccl-a")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
    inode = (tmp_path / "nccl-b").stat().st_ino
    empty, found = read_segments(str(tmp_path))
    assert found == Segment(str(tmp_path / "nccl-b"), 3, os.getuid(), inode, 1_700_000_000.5, referenced=True)
    assert empty.path == str(tmp_path / "nccl-a")


def test_what_nobody_has_is_told_apart():
    segments = (Segment("/dev/shm/a", 1, 0, 11, 0.0), Segment("/dev/shm/b", 2, 0, 12, 0.0))
    assert [(item.path, item.referenced) for item in marked(segments, {12}, {0}, 1_700_000_000.0)] == [
        ("/dev/shm/a", False),
        ("/dev/shm/b", True),
    ]


@pytest.mark.parametrize(
    ("user", "age_seconds", "kept"),
    [
        pytest.param(990, 1, True, id="just sent from one process to another"),
        pytest.param(990, -3600, True, id="by a clock that was wrong"),
        pytest.param(990, 3600, False, id="long ago"),
        pytest.param(991, 1, False, id="of a user who has no process any more"),
    ],
)
def test_what_nobody_has_yet_is_kept(user, age_seconds, kept):
    now = 1_700_000_000.0
    (item,) = marked((Segment("/dev/shm/psm_a", 1, user, 11, now - age_seconds),), (), {0, 990}, now)
    assert item.referenced is kept


def test_no_such_directory(tmp_path):
    assert read_segments(str(tmp_path / "absent")) == ()
    assert device_of(str(tmp_path / "absent")) is None


def test_the_file_system_of_a_directory(tmp_path):
    device = tmp_path.stat().st_dev
    assert device_of(str(tmp_path)) == (os.major(device), os.minor(device))
