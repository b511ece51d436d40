# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hosts and virtual machines have in common: a control group, somebody they belong to, and a record on disk."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from . import cgroup, owner
from .command import HostError, attempt


class Booted:
    """For dataclasses with these names; their fields but `site` are the record."""

    name: str
    cgroup: str
    maker: str
    owner: str | None

    @property
    def running(self) -> bool:
        return cgroup.is_populated(self.cgroup)

    @property
    def abandoned(self) -> bool:
        """What does not run yet belongs to the process that is making it."""
        if self.owner is not None and owner.is_gone(self.owner):
            return True
        return not self.running and owner.is_gone(self.maker)

    def write_record(self, path: Path) -> None:
        """Whole or not at all: gc of another process may read it at any time."""
        record = {key: value for key, value in asdict(self).items() if key != "site"}
        fresh = path.with_name(f".{path.name}")
        fresh.write_text(json.dumps(record, indent=1) + "\n")
        fresh.rename(path)

    def ask(self, way_in: Sequence[str], command: str, check: bool) -> subprocess.CompletedProcess[str]:
        """Run `command` there by the command line `way_in`; a failure is a HostError unless check is false."""
        done = attempt(*way_in)
        if check and done.returncode:
            raise HostError(
                f"On {self.name} `{command}` ended with {done.returncode}: {(done.stderr or done.stdout).strip()}"
            )
        return done
