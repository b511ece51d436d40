# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Root file systems of the hosts: built once, kept in the cache as directories, each the read-only lower layer of many hosts."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from .command import HostError, attempt, sentence_list, tail
from .removal import remove_tree
from .site import Site

SUITES = ("bookworm", "trixie")
PACKAGES = (
    "ca-certificates,dbus,dbus-user-session,gpg,iproute2,kmod,libpam-systemd,openssh-server,procps,"
    "python3,python3-apt,python3-debian,python3-venv,sudo,systemd,systemd-sysv,udev"
)
CUSTOMIZE = Path(__file__).with_name("customize.sh")
CERTIFICATES = Path("/usr/local/share/ca-certificates")

# Lists stay in the image: with a fresh cache time and no lists, `apt: cache_valid_time` would skip the update and find no package.
RECIPE = [
    "--variant=minbase",
    f"--include={PACKAGES}",
    '--aptopt=Acquire::Languages "none"',
    "--dpkgopt=path-exclude=/usr/share/man/*",
    "--dpkgopt=path-exclude=/usr/share/doc/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
    "--dpkgopt=force-unsafe-io",
    "--skip=cleanup/apt/lists",
    "--format=directory",
]

# Ends with whoever asked for it, with its processes and mounts: a build that is killed must not bar the next one.
ALONE = ("setpriv", "--pdeathsig=KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")


def images(site: Site, suites: list[str]) -> list[Path]:
    """All at once: a build waits for the network in one half and for one core in the other."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda suite: image(site, suite), suites))


def image(site: Site, suite: str) -> Path:
    """The directory of a suite's root file system, built if it is not there yet."""
    if suite not in SUITES:
        raise HostError(f"No image is known for suite {suite!r}; known are {sentence_list(SUITES)}.")
    target = site.cache / "images" / f"{suite}-{recipe_key(suite)}"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        lock = stack.enter_context((target.parent / f".{suite}.lock").open("w", encoding="utf-8"))
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            build(suite, target)
    return target


def recipe_key(suite: str) -> str:
    digest = hashlib.sha256(json.dumps([suite, RECIPE, os.environ.get("BLACKWELL_DEBIAN_MIRROR")]).encode())
    for path in (CUSTOMIZE, *certificates()):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def certificates() -> list[Path]:
    return sorted(CERTIFICATES.glob("*.crt"))


def build(suite: str, target: Path) -> None:
    unfinished = target.parent / f".building-{suite}"
    remove_tree(unfinished)
    mirror = [wish] if (wish := os.environ.get("BLACKWELL_DEBIAN_MIRROR")) else []
    done = attempt(
        *ALONE, "nice", "mmdebstrap", *RECIPE, f'--customize-hook={CUSTOMIZE} "$1"', suite, str(unfinished), *mirror
    )
    if done.returncode:
        remove_tree(unfinished)
        raise HostError(
            f"mmdebstrap could not build {suite} (exit {done.returncode}). A mirror may be out of reach; "
            f"BLACKWELL_DEBIAN_MIRROR names another. Its last words:\n{tail(done.stderr)}"
        )
    unfinished.rename(target)
