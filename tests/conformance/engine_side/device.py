# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Device pools, by the functions that this version of the engine sizes them with."""

from __future__ import annotations

import importlib
from typing import Any

import sglang

_since_0_5_17 = tuple(int(part) for part in sglang.__version__.split(".")[:3]) >= (0, 5, 17)
answer: Any = importlib.import_module("configurator" if _since_0_5_17 else "runner").answer
