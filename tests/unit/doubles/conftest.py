# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The real bindings, in a process of their own, in front of a described machine."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.blackwell.inference.tests.doubles.nvml.build import build
from ansible_collections.blackwell.inference.tests.doubles.nvml.description import load

PREAMBLE = """
import ctypes, json
import pynvml as N

def tell(value):
    print(json.dumps(value), flush=True)

def attempt(function, *arguments):
    try:
        return function(*arguments)
    except N.NVMLError as error:
        return type(error).__name__.removeprefix("NVMLError_")

def start():
    N.nvmlInit()
    return [N.nvmlDeviceGetHandleByIndex(index) for index in range(N.nvmlDeviceGetCount())]
"""


@dataclass
class Machine:
    """A description in a file, where a test may change it, and what programs see of it."""

    content: dict[str, Any]
    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / "machine.json"

    @property
    def call_log(self) -> Path:
        return self.folder / "calls"

    def save(self) -> None:
        fresh = self.folder / "machine.json.new"
        fresh.write_text(json.dumps(self.content), encoding="utf-8")
        fresh.replace(self.path)

    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "FAKE_NVML": str(self.path),
            "FAKE_NVML_LOG": str(self.call_log),
            "LD_LIBRARY_PATH": str(build().parent),
        }

    def ask(self, code: str) -> Any:
        """The last thing that the code tells."""
        self.save()
        done = subprocess.run(
            [sys.executable, "-c", PREAMBLE + code],
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def calls(self) -> list[str]:
        return [line.split()[1] for line in self.call_log.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def machine(tmp_path: Path) -> Callable[[str], Machine]:
    def make(name: str = "rtx-pro-6000-server-8x") -> Machine:
        made = Machine(copy.deepcopy(load(name)), tmp_path)
        made.save()
        return made

    return make
