# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files lie on something that may never answer."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.holders.gpu_files import read_mounts

MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
23 22 0:21 / /dev rw - devtmpfs devtmpfs rw
24 22 0:45 / /srv/models ro,relatime shared:4 - nfs4 filer:/models rw,vers=4.2
25 24 0:46 / /srv/models/cache rw - tmpfs tmpfs rw
26 22 0:300 / /var/lib/lxcfs rw master:3 - fuse.lxcfs lxcfs rw
27 22 0:47 / /mnt/a\\040b rw - fuse hung rw
28 22 0:48 / /covered rw - cifs //filer/x rw
29 28 0:49 / /covered rw - tmpfs tmpfs rw
broken line
"""


@pytest.mark.parametrize(
    ("path", "hangs"),
    [
        ("/etc/passwd", False),
        ("/dev/nvidia0", False),
        ("/srv/models", True),
        ("/srv/models/kimi/model-1.safetensors", True),
        ("/srv/models-old/x", False),
        ("/srv/models/cache/x", False),
        ("/var/lib/lxcfs/proc/stat (deleted)", True),
        ("/mnt/a b/x", True),
        ("/covered/x", False),
        ("socket:[123]", False),
    ],
)
def test_where_a_file_lies(path, hangs):
    assert read_mounts(MOUNTS).may_hang(path) is hangs


def test_file_systems_are_told_by_number_as_maps_write_it():
    assert read_mounts(MOUNTS).devices == {b"00:2d", b"00:12c", b"00:2f", b"00:30"}


def test_a_root_that_may_hang_takes_all_but_what_is_mounted_below():
    mounts = read_mounts("1 0 0:40 / / rw - fuse.fuse-overlayfs x rw\n2 1 0:41 / /dev rw - tmpfs x rw\n")
    assert (mounts.may_hang("/usr/lib/x.so"), mounts.may_hang("/dev/nvidia0")) == (True, False)


@pytest.mark.parametrize("separator", ["\r", "\x0b", "\x85", "\u2028"])
def test_a_mount_point_is_no_further_line(separator):
    mounts = read_mounts(f"1 0 0:40 / /mnt/a{separator}2 1 0:41 / /dev rw - fuse x rw\n")
    assert not mounts.may_hang("/dev/nvidia0")


@pytest.mark.parametrize(
    "kind",
    [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "fuse",
        "fuseblk",
        "fuse.sshfs",
        "ceph",
        "9p",
        "autofs",
        "lustre",
        "gpfs",
        "beegfs",
        "afs",
    ],
)
def test_kinds_that_may_hang(kind):
    assert read_mounts(f"1 0 0:40 / /x rw - {kind} x rw").prefixes == ("/x",)


@pytest.mark.parametrize(
    "kind", ["ext4", "overlay", "tmpfs", "devtmpfs", "xfs", "btrfs", "zfs", "fusectl", "nfsd", "proc"]
)
def test_kinds_that_do_not(kind):
    assert read_mounts(f"1 0 0:40 / /x rw - {kind} x rw").prefixes == ()
