# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs an action plugin as Ansible does, with the arguments of a task; what it calls on the host is a function's to answer."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

ACTIONS = "ansible_collections.blackwell.inference.plugins.action."
Call = Callable[[dict[str, Any]], dict[str, Any]]


def no_host(_arguments: dict[str, Any]) -> dict[str, Any]:
    raise AssertionError("nothing was to be run on the host")


def run_action(
    name: str, arguments: Mapping[str, Any], call: Call = no_host, check: bool = False, async_seconds: int = 0
) -> dict[str, Any]:
    """What the action returned, with its warnings as Ansible adds them. `call` gets the arguments of each module that it runs."""
    task = SimpleNamespace(args=dict(arguments), check_mode=check, async_val=async_seconds, action=name)
    connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir=None))
    action = importlib.import_module(ACTIONS + name).ActionModule(task, connection, None, None, None)
    warnings: list[str] = []
    action._display = SimpleNamespace(warning=warnings.append)
    action._execute_module = lambda module_name, module_args, task_vars: call(json.loads(json.dumps(module_args)))
    result: dict[str, Any] = json.loads(json.dumps(action.run(task_vars={})))
    return {**result, "warnings": warnings} if warnings else result
