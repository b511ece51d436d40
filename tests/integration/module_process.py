# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a module in a process of its own, as Ansible does, with the arguments of a task."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

TREE = Path(__file__).parents[2] / ".tree"
START = """
import importlib, json, sys
from ansible.module_utils import basic
basic._ANSIBLE_ARGS = sys.stdin.buffer.read()
basic._ANSIBLE_PROFILE = "legacy"
importlib.import_module("ansible_collections.blackwell.inference.plugins.modules." + sys.argv[1]).main()
"""


def run_module(
    name: str,
    arguments: Mapping[str, Any],
    environment: Mapping[str, str],
    check: bool = False,
    before: Sequence[str] = (),
) -> dict[str, Any]:
    """What the module returned. `before` is a command that starts it, for example in a namespace."""
    given = {"ANSIBLE_MODULE_ARGS": {**arguments, "_ansible_check_mode": check}}
    process = subprocess.run(
        [*before, sys.executable, "-c", START, name],
        input=json.dumps(given),
        env={**os.environ, "PYTHONPATH": str(TREE), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if not process.stdout:
        raise RuntimeError(f"{name} said nothing: {process.stderr}")
    result: dict[str, Any] = json.loads(process.stdout)
    return result
