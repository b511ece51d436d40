# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls the module until the start has an outcome, and shows on the controller how far it has come."""

from __future__ import annotations

import time
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

MODULE = "blackwell.inference.server_ready"
GIB = 1 << 30
MARK_SECONDS = 30
RECONNECT_SECONDS = (1, 2, 5, 10, 20, 40, 60, 60, 60, 60)
"""Pauses before the connection is tried again in the middle of a wait: some five minutes, which covers a reboot of a switch."""

display = Display()


class ActionModule(ActionBase):  # type: ignore[misc]
    """Waits on the controller, so that no single call on the host is long enough to be lost."""

    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        watch: dict[str, Any] | None = None
        shown: tuple[Any, ...] | None = None
        while True:
            result = self._call(watch, task_vars)
            readiness = result.get("readiness")
            if self._task.check_mode or not readiness or readiness["state"] != "loading":
                result.pop("watch", None)
                return result
            watch = result["watch"]
            if mark(readiness) != shown:
                shown = mark(readiness)
                display.display(f"{self._task.args.get('unit')}: {progress_line(readiness)}")

    def _call(self, watch: dict[str, Any] | None, task_vars: dict[str, Any] | None) -> dict[str, Any]:
        """One call on the host. A connection that drops in the middle of a wait is made again; one that never stood is an unreachable host."""
        pauses = iter(RECONNECT_SECONDS)
        dropped = False
        while True:
            try:
                if dropped:
                    self._connection.reset()
                arguments = dict(self._task.args, watch=watch)
                return dict(self._execute_module(module_name=MODULE, module_args=arguments, task_vars=task_vars))
            except AnsibleConnectionFailure as error:
                pause = next(pauses, None)
                if watch is None or pause is None:
                    raise
                display.display(
                    f"{self._task.args.get('unit')}: the connection dropped ({error}); trying again in {pause} s"
                )
                time.sleep(pause)
                dropped = True


def mark(readiness: dict[str, Any]) -> tuple[Any, ...]:
    """A line is shown when any of this changes."""
    seconds = int(readiness["elapsed_seconds"]) // MARK_SECONDS
    return readiness["phase"], readiness["shards_loaded"], readiness["pinned_bytes"] // GIB, seconds


def progress_line(readiness: dict[str, Any]) -> str:
    """For example `loading weights, 12/64 shards, 0 GiB pinned, 95 s of about 430 s`."""
    elapsed, estimate = readiness["elapsed_seconds"], readiness["estimate_seconds"]
    moves = readiness["silent_seconds"] < MARK_SECONDS
    parts = [readiness["phase"]]
    if readiness["shards_total"]:
        parts.append(f"{readiness['shards_loaded']}/{readiness['shards_total']} shards")
    parts.append(f"{readiness['pinned_bytes'] // GIB} GiB pinned")
    if estimate and elapsed > estimate:
        parts.append(f"{elapsed:.0f} s, longer than the estimated {estimate:.0f} s")
        parts += ["still making progress"] if moves else []
    else:
        parts.append(f"{elapsed:.0f} s{f' of about {estimate:.0f} s' if estimate else ''}")
    if not moves:
        parts.append(f"nothing moved for {readiness['silent_seconds']:.0f} s")
    return ", ".join(parts)
