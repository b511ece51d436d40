# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ad-hoc calls of Ansible, with the collection of this checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from ansible_collections.blackwell.inference.tests.testhost.site import CHECKOUT

SETTINGS = {
    "ANSIBLE_CONFIG": str(CHECKOUT / "tests/ansible.cfg"),
    "ANSIBLE_COLLECTIONS_PATH": str(CHECKOUT / ".tree"),
    "ANSIBLE_CALLBACK_PLUGINS": str(CHECKOUT / "tests/callbacks"),
    "ANSIBLE_NOCOLOR": "1",
}


def ansible(*arguments: str, **environment: str) -> str:
    """What a call prints; how it went is told by that."""
    done = subprocess.run(
        [str(Path(sys.executable).with_name("ansible")), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env={**os.environ, **SETTINGS, **environment},
    )
    return done.stdout + done.stderr


def result_of(output: str) -> dict[str, Any]:
    """The result that the minimal callback prints behind `host | SUCCESS => `."""
    start = output.find(" => {")
    if start < 0:
        raise AssertionError(f"No result was printed:\n{output[-4000:]}")
    result: dict[str, Any] = json.JSONDecoder().raw_decode(output, start + 4)[0]
    return result
