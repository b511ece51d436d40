# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tells the engine's refusals to start from whatever else may go wrong in here."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

_SENTENCES = (
    "Not enough memory.",
    "Loaded weights leave no GPU memory",
    "Not enough GPU memory for hybrid",
    "state cache is too small to serve",
    "cannot hold even one request",
    "must have at least one SWA layer",
    "integer division or modulo by zero",  # a stage that keeps nothing of a token, up to 0.5.16
    "leaves no room for the full",
    "max_running_request is zero",
    "Not enough host memory available",
    "The host memory should be larger than the device memory",
    "No host memory is left for HiCache",
)


def answered(answer: Callable[[dict[str, Any]], dict[str, Any]], case: dict[str, Any]) -> dict[str, Any]:
    """The result; `refused` where the engine says that it will not start, `broken` with the traceback for anything else."""
    try:
        return answer(case)
    except Exception as error:
        if any(sentence in str(error) for sentence in _SENTENCES):
            return {"refused": str(error)}
        return {"broken": traceback.format_exc()}
