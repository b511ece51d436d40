# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for the get-pip.py that ansible-test would download: installs the pip wheel of its version that lies beside it."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

here = Path(__file__)
version = here.stem.removeprefix("get_pip_").replace("_", ".")
(wheel,) = map(str, here.parent.glob(f"pip-{version}-*.whl"))
sys.path.insert(0, wheel)
# The arguments name the same pip, to be had from an index; that and no setuptools or wheel is all that they ask for.
sys.argv = ["pip", "install", "--upgrade", "--no-deps", "--no-index", "--disable-pip-version-check", wheel]
runpy.run_module("pip", run_name="__main__", alter_sys=True)
