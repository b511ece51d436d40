# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A systemd unit as its host shows it."""

from __future__ import annotations

from dataclasses import dataclass, field

from testinfra.host import Host

from ansible_collections.blackwell.inference.plugins.module_utils.sglang.secrets import without_secrets

JOURNAL_LINES = 40


@dataclass(frozen=True)
class Unit:
    """`secrets` are the values that its journal may hold and a report of a test must not."""

    host: Host = field(repr=False)
    name: str
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def show(self, name: str) -> str:
        """One property, as systemd has it now."""
        return str(self.host.check_output("systemctl show --value --property=%s %s", name, self.name))

    def journal(self) -> str:
        """The end of what it said, fit to be printed."""
        said = self.host.run("journalctl --unit=%s --lines=%s --no-pager", self.name, str(JOURNAL_LINES))
        return "\n".join(without_secrets((said.stdout + said.stderr).splitlines(), self.secrets))

    def owners(self) -> dict[str, str]:
        """Who runs each process of its control group, by pid."""
        rows = [row.split() for row in self.host.check_output("ps -eo unit:255=,pid=,user:32=").splitlines()]
        return {pid: user for unit, pid, user in rows if unit == self.name}
