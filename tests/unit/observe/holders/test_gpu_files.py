# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes this very process has open or mapped: any user may look at its own."""

from __future__ import annotations

import mmap
import os

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.holders.gpu_files import GpuFiles
from ansible_collections.blackwell.inference.plugins.module_utils.observe.holders.gpu_nodes import GpuNodes

FULL, ZERO = (1, 7), (1, 5)


@pytest.fixture
def files(tmp_path):
    referenced: list[int] = []
    memory = tmp_path.stat().st_dev
    nodes = GpuNodes({FULL: "nvidia0", ZERO: "nvidia1"})
    files = GpuFiles("/proc", nodes, (os.major(memory), os.minor(memory)), referenced.append)
    return files, referenced


@pytest.fixture
def opened():
    descriptors: list[int] = []

    def start(path: str, flags: int = os.O_RDONLY) -> int:
        descriptors.append(os.open(path, flags))
        return descriptors[-1]

    yield start
    for descriptor in descriptors:
        os.close(descriptor)


def test_nothing(files):
    looking, _referenced = files
    assert (looking.opened(os.getpid()), looking.mapped(os.getpid())) == (set(), set())
    assert looking.descriptors >= 3


def test_an_open_node(files, opened):
    looking, _referenced = files
    opened("/dev/full")
    assert (looking.opened(os.getpid()), looking.mapped(os.getpid())) == ({"nvidia0"}, set())


def test_shared_memory_that_is_open_or_only_mapped(files, tmp_path):
    """The folder of the test stands for /dev/shm."""
    looking, referenced = files
    path = tmp_path / "segment"
    path.write_bytes(bytes(4096))
    inode = path.stat().st_ino
    with path.open("r+b") as file:
        assert looking.opened(os.getpid()) == set()
        assert inode in referenced
        mapping = mmap.mmap(file.fileno(), 4096)
    referenced.clear()
    looking.mapped(os.getpid())
    mapping.close()
    assert inode in referenced


def test_no_such_process(files):
    looking, _referenced = files
    assert looking.mapped(0) == set()
    with pytest.raises(FileNotFoundError):
        looking.opened(0)


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("7f0-7f1 rw-s 00000000 00:05 317                        /dev/nvidia3", {"nvidia3"}),
        ("7f0-7f1 rw-s 00000000 00:05 317                        /dev/nvidia-uvm (deleted)", {"nvidia-uvm"}),
        ("7f0-7f1 rw-s 00000000 00:05 317                        /dev/full", set()),
        ("7f0-7f1 r--p 00000000 fe:00 317                        /usr/lib/nvidia0", set()),
        ("7f0-7f1 rw-p 00000000 00:00 0                          [anon: 00:05 3 x]", set()),
        ("7f0-7f1 rw-p 00000000 00:00 0 ", set()),
        ("7f0-7f1 r--p 00000000 fe:00 317", set()),
        ("7f0-7f1 r--s 00000000 00:2d 317                        /dev/nvidia0", set()),  # on what may hang
    ],
)
def test_a_mapping_that_cannot_be_followed_counts_by_its_name(tmp_path, line, names):
    process = tmp_path / "42"
    (process / "ns").mkdir(parents=True)
    (process / "ns" / "mnt").symlink_to("mnt:[1]")
    (process / "mountinfo").write_text("1 0 0:45 / /x rw - fuse.sshfs x rw\n")
    (process / "maps").write_text(f"{line}\n")
    assert GpuFiles(str(tmp_path), GpuNodes(), None, print).mapped(42) == names
