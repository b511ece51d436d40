# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How testinfra reaches the hosts of `molecule/inventory`.

testinfra reads an inventory without Jinja, and ours computes its addresses in Jinja, so the record of the running host is asked instead.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import testinfra
import yaml
from testinfra.host import Host

from ansible_collections.blackwell.inference.tests.testhost import host as hosts
from ansible_collections.blackwell.inference.tests.testhost import ssh
from ansible_collections.blackwell.inference.tests.testhost.site import CHECKOUT, this_site


def names() -> list[str]:
    inventory = yaml.safe_load((CHECKOUT / "molecule/inventory/hosts.yml").read_text(encoding="utf-8"))
    return sorted(inventory["inference"]["hosts"])


def running(name: str) -> hosts.Host:
    return hosts.find(this_site(), name)


def connect(machine: hosts.Host, control: Path) -> Host:
    """One ssh connection for all commands, with its socket at `control`."""
    return testinfra.get_host(
        f"ssh://root@{machine.address}",
        ssh_identity_file=str(machine.site.key),
        ssh_extra_args=" ".join(ssh.OPTIONS),
        controlpath=str(control),
    )


def disconnect(machine: hosts.Host, control: Path) -> None:
    """Now, and not when it has been idle for a minute."""
    if control.exists():
        subprocess.run(
            ["ssh", "-o", f"ControlPath={control}", "-O", "exit", f"root@{machine.address}"],
            capture_output=True,
            check=True,
        )
