# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts the round trips to hosts: one call of the connection's exec_command, put_file or fetch_file each.

The counts go to the file that ROUND_TRIPS names, one line a call. The connection class is wrapped in the main process, before workers fork.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from ansible.plugins.callback import CallbackBase
from ansible.plugins.connection import ssh

DOCUMENTATION = r"""
name: count_round_trips
type: aggregate
short_description: Counts calls of the ssh connection
description:
  - Writes one line for each call of exec_command, put_file and fetch_file to the file that the environment variable ROUND_TRIPS names.
"""

CALLS = ("exec_command", "put_file", "fetch_file")


def counted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def counting(*args: Any, **kwargs: Any) -> Any:
        with open(os.environ["ROUND_TRIPS"], "a", encoding="utf-8") as counts:
            counts.write(f"{name}\n")
        return call(*args, **kwargs)

    return counting


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "count_round_trips"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in CALLS:
            setattr(ssh.Connection, name, counted(name, getattr(ssh.Connection, name)))
