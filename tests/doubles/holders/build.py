# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the program that holds device nodes into the cache, once for each state of its source."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from pathlib import Path

from ..nvml.build import BuildError, cache_root

SOURCE = Path(__file__).with_name("holder.c")
PROGRAM = "holder"
COMMAND = ("gcc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-pthread")


def build() -> Path:
    """The program's path. It is static: it runs on every test host, and in a namespace with nothing but itself."""
    digest = hashlib.sha256(" ".join(COMMAND).encode() + SOURCE.read_bytes()).hexdigest()[:16]
    wanted = cache_root() / "holders" / digest / PROGRAM
    if wanted.exists():
        return wanted
    wanted.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=wanted.parent, prefix="build-") as name:
        made = Path(name) / PROGRAM
        try:
            done = subprocess.run([*COMMAND, "-o", made, SOURCE], capture_output=True, text=True, check=False)
        except FileNotFoundError as missing:
            raise BuildError("The holders need gcc, which is not installed: install gcc and libc6-dev.") from missing
        if done.returncode:
            raise BuildError(f"gcc failed with {done.returncode} while the holders were built:\n{done.stderr.strip()}")
        made.replace(wanted)  # whole or not at all, also when two builds race
    return wanted
