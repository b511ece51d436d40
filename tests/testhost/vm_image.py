# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The virtual machine's kernel, initrd, disk and the snapshot of it just booted, built once and kept in the cache."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import ssh
from .command import HostError, attempt, run, tail
from .image import ALONE, CUSTOMIZE, RECIPE, certificates
from .removal import remove_tree
from .site import Site

SUITE = "trixie"
VM_CUSTOMIZE = Path(__file__).with_name("customize-vm.sh")
VM_RECIPE = [*RECIPE, "--include=e2fsprogs,initramfs-tools,linux-image-cloud-amd64"]
DISK_SIZE = "3G"


def vm_image(site: Site) -> Path:
    """The directory with kernel, initrd and disk.img; vm.py adds ready.qcow2."""
    ssh.make_key(site)
    directory = site.cache / "vm" / recipe_key(site)
    with exclusive(directory):
        if not (directory / "disk.img").exists():
            build(site, directory)
    return directory


@contextmanager
def exclusive(directory: Path) -> Iterator[None]:
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / ".lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def recipe_key(site: Site) -> str:
    """With the emulator's version, as another one may not read the snapshot, and the ssh key, which is on the disk."""
    emulator = run("qemu-system-x86_64", "--version")
    mirror = os.environ.get("BLACKWELL_DEBIAN_MIRROR")
    digest = hashlib.sha256(json.dumps([VM_RECIPE, DISK_SIZE, emulator, ssh.public_key(site), mirror]).encode())
    for path in (CUSTOMIZE, VM_CUSTOMIZE, *certificates()):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def build(site: Site, directory: Path) -> None:
    tree, disk = directory / ".tree", directory / ".disk.img"
    remove_tree(tree)
    mirror = [wish] if (wish := os.environ.get("BLACKWELL_DEBIAN_MIRROR")) else []
    hooks = [f'--customize-hook={script} "$1"' for script in (CUSTOMIZE, VM_CUSTOMIZE)]
    key = f"AUTHORIZED_KEY={ssh.public_key(site)}"
    done = attempt(*ALONE, "nice", "env", key, "mmdebstrap", *VM_RECIPE, *hooks, SUITE, str(tree), *mirror)
    if done.returncode:
        remove_tree(tree)
        raise HostError(
            f"mmdebstrap could not build the virtual machine (exit {done.returncode}):\n{tail(done.stderr)}"
        )
    for name in ("vmlinuz", "initrd"):
        newest = sorted((tree / "boot").glob(f"{name}*"))[-1]
        run("cp", str(newest), str(directory / name))
    run("mkfs.ext4", "-q", "-F", "-d", str(tree), str(disk), DISK_SIZE)
    remove_tree(tree)
    disk.rename(directory / "disk.img")
