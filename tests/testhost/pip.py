# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How pip finds its packages on this machine, as far as a host can do the same: indexes that are files of the machine are left out."""

from __future__ import annotations

import configparser
import os
from pathlib import Path

FILES = (Path("/etc/pip.conf"), Path.home() / ".config/pip/pip.conf", Path.home() / ".pip/pip.conf")
SETTINGS = ("index-url", "extra-index-url", "trusted-host")


def configuration() -> str:
    """A pip.conf for the host; empty where the machine has nothing to pass on."""
    found = configparser.ConfigParser(interpolation=None)
    found.read(FILES, encoding="utf-8")
    lines = []
    for setting in SETTINGS:
        variable = f"PIP_{setting.upper().replace('-', '_')}"
        value = os.environ.get(variable) or found.get("global", setting, fallback=None) or ""
        words = [
            word for word in value.split() if setting == "trusted-host" or word.startswith(("http://", "https://"))
        ]
        if words:
            lines.append(f"{setting} = {' '.join(words)}")
    return "\n".join(["[global]", *lines, ""]) if lines else ""
