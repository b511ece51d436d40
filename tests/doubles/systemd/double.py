# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A unit and its journal for modules that ask systemd, where there is no systemd: sets what `systemctl` and `journalctl` of this folder say."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
RUNNING = {
    "LoadState": "loaded",
    "ActiveState": "active",
    "SubState": "running",
    "UnitFileState": "enabled",
    "InvocationID": "first",
    "MainPID": "0",
    "NRestarts": "0",
    "Result": "success",
    "KillMode": "control-group",
}


@dataclass(frozen=True)
class SystemdDouble:
    """Lives in a folder; `environment` is what a process needs to see it."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        return {"SYSTEMD_DOUBLE": str(self.folder), "PATH": f"{HERE}:{os.environ['PATH']}"}

    @property
    def calls(self) -> list[str]:
        """What was asked of systemctl so far."""
        file = self.folder / "calls"
        return file.read_text().splitlines() if file.exists() else []

    def set_unit(self, name: str, **properties: str) -> None:
        """A running unit but for these properties. Replaced at once: somebody may be reading."""
        lines = [f"{key}={value}\n" for key, value in {**RUNNING, **properties}.items()]
        draft = self.folder / f".{name}"
        draft.write_text("".join(lines))
        draft.replace(self.folder / name)

    def journal(self, invocation: str = "first") -> Path:
        return self.folder / f"{invocation}.log"
