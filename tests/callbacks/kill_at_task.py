# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kills the play, as a lost controller would be, when it comes to a task.

KILL_AT_TASK is the number of the task, counted from 1 over the whole run, or the end of its name; KILL_AFTER_SECONDS how long after the task began (0: before
anything of it reaches the host). The tasks that began are written to the file that KILL_TASKS names, one line each.
"""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: kill_at_task
type: aggregate
short_description: Kills the play at a task
description:
  - Kills the process group of the play at the task whose number, or the end of whose name, the environment variable KILL_AT_TASK gives.
"""


def kill_play() -> None:
    os.killpg(os.getpgid(0), signal.SIGKILL)


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "kill_at_task"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._begun = 0

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        self._begun += 1
        with open(os.environ["KILL_TASKS"], "a", encoding="utf-8") as tasks:
            tasks.write(f"{task.get_name()}\n")
        wanted = os.environ.get("KILL_AT_TASK", "0")
        if str(self._begun) != wanted and not task.get_name().endswith(wanted):
            return
        after = float(os.environ.get("KILL_AFTER_SECONDS", "0"))
        if after == 0:
            kill_play()
        threading.Timer(after, kill_play).start()
