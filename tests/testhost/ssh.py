# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one key that opens root on every host, and how to tell that a host listens."""

from __future__ import annotations

import socket

from .command import run
from .site import Site, machine_lock

OPTIONS = ("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR")


def make_key(site: Site) -> None:
    with machine_lock():
        if not site.key.exists():
            site.key.parent.mkdir(parents=True, exist_ok=True)
            site.key.with_suffix(".pub").unlink(missing_ok=True)
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "blackwell test hosts", "-f", str(site.key))


def public_key(site: Site) -> str:
    return site.key.with_suffix(".pub").read_text()


def command(site: Site, address: str, port: int = 22) -> list[str]:
    """Append what to run there; without that it is a login."""
    return ["ssh", "-i", str(site.key), "-p", str(port), *OPTIONS, f"root@{address}"]


def variables(site: Site, address: str, port: int = 22) -> dict[str, str | int]:
    """The same for Ansible."""
    return {
        "ansible_host": address,
        "ansible_port": port,
        "ansible_user": "root",
        "ansible_python_interpreter": "/usr/bin/python3",
        "ansible_ssh_private_key_file": str(site.key),
        "ansible_ssh_common_args": " ".join(OPTIONS),
    }


def answers(address: str, port: int = 22, patience_seconds: float = 1.0) -> bool:
    try:
        with socket.create_connection((address, port), timeout=patience_seconds) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False
