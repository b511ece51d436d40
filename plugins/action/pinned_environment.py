# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls the module until the environment is made, and shows on the controller how far that is."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

MODULE = "blackwell.inference.pinned_environment"
GB = 10**9
MARK_SECONDS = 30
display = Display()


class ActionModule(ActionBase):  # type: ignore[misc]
    """Waits on the controller, so that no single call on the host is long enough to be lost."""

    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        host = (task_vars or {}).get("inventory_hostname", "this host")
        again, shown = False, 0
        while True:
            arguments = {**self._task.args, "again": again}
            result = dict(self._execute_module(module_name=MODULE, module_args=arguments, task_vars=task_vars))
            seen = result.get("installation")
            if result.get("failed") or not seen or seen["state"] != "running":
                return result
            again = True
            mark = 1 + int(seen["elapsed_seconds"]) // MARK_SECONDS
            if mark != shown:
                shown = mark
                display.display(f"{host}: {progress_line(self._task.args['path'], seen)}")


def progress_line(path: str, seen: dict[str, Any]) -> str:
    """For example `fetching for /opt/sglang/0.5.9-1a2b: 57 of 156 distributions, 2.3 GB fetched, 0.0 GB installed, 95 s of about 260 s`."""
    parts = [
        f"{seen['collected']} of {seen['total']} distributions",
        f"{seen['fetched_bytes'] / GB:.1f} GB fetched",
        f"{seen['installed_bytes'] / GB:.1f} GB installed",
    ]
    elapsed = seen["elapsed_seconds"]
    # By the share of distributions that pip has come to; what it writes to disk after that takes the time that is not known before.
    known = seen["collected"] and not seen["installing"]
    estimate = f" of about {elapsed * seen['total'] / seen['collected']:.0f} s" if known else ""
    parts.append(f"{elapsed:.0f} s{estimate}")
    return f"{'unpacking into' if seen['installing'] else 'fetching for'} {path}: {', '.join(parts)}"
