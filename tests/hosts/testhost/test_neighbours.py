# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts reach each other."""

from __future__ import annotations

from testinfra.host import Host

from ansible_collections.blackwell.inference.tests.hosts.connection import names, running
from ansible_collections.blackwell.inference.tests.testhost import host as hosts

GREETING = """
import socket, sys
with socket.create_connection((sys.argv[1], 22), timeout=10) as connection:
    print(connection.recv(64).decode())
"""


def test_every_other_sshd_answers(host: Host, machine: hosts.Host) -> None:
    others = [name for name in names() if name != machine.name]
    answers = {name: host.run("python3 -c %s %s", GREETING, running(name).address) for name in others}
    assert others
    assert {name: answer.stderr for name, answer in answers.items() if "OpenSSH" not in answer.stdout} == {}
