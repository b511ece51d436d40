# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs of the machine, and the one error that this package raises."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence


class HostError(Exception):
    """A sentence: what was seen, what was expected, what to do next."""


def run(*argv: str, stdin: str | None = None) -> str:
    """What the program prints; its own complaint as a HostError when it fails."""
    done = attempt(*argv, stdin=stdin)
    if done.returncode:
        complaint = (done.stderr or done.stdout).strip()
        raise HostError(f"`{' '.join(argv)}` ended with {done.returncode}: {complaint}")
    return done.stdout


def attempt(*argv: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """The same for a program whose failure is an answer."""
    try:
        return subprocess.run(argv, input=stdin, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise HostError(f"{argv[0]} is not installed; `make packages` installs what test hosts need.") from None


def tail(text: str, lines: int = 15) -> str:
    return "\n".join(text.splitlines()[-lines:])


def sentence_list(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"
