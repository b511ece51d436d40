# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a test asks of the double through the environment: how long phases take, and what goes wrong.

`ENGINE_DOUBLE_SECONDS`: seconds of a whole start ("2"), or of phases ("load=5,pin=1"); phases are those of `SHARES`.
`ENGINE_DOUBLE_SLOW`: a factor on all of them.
`ENGINE_DOUBLE_FAULT`: faults separated by ";":

    stall:PHASE            every rank stops after the phase, alive and silent
    oom:PHASE              rank 0 runs out of GPU memory after the phase
    killed:PHASE           rank 0 is killed as the kernel kills for memory, after the phase
    prefill_oom            the first prompt of a thousand tokens or more runs out of GPU memory
    server_info:PATH=VALUE server info says VALUE (JSON, or text) at the dotted PATH, for example internal_states.0.memory_usage.token_capacity
    journal:FIGURE=VALUE   the log says VALUE for a figure of `JOURNAL_FIGURES`
    health:closed          /health closes the connection without an answer
    health:unhealthy       /health answers 503
    chat:error             chat completions answer 500
    ignore_sigterm         SIGTERM is logged and nothing else
"""

from __future__ import annotations

import json
import os
import time
from typing import Any

# Shares of a start, of the order seen on the design host with nothing in the page cache.
SHARES = {"init": 0.1, "load": 0.4, "pools": 0.05, "graphs": 0.2, "pin": 0.2, "warmup": 0.05}
DEFAULT_SECONDS = 2.0
JOURNAL_FIGURES = ("tokens", "weights_gib", "kv_gib", "graphs_gib", "host_pool_bytes")


class Faults:
    def __init__(self) -> None:
        self._entries = [
            entry.strip() for entry in os.environ.get("ENGINE_DOUBLE_FAULT", "").split(";") if entry.strip()
        ]
        self._seconds = _seconds(os.environ.get("ENGINE_DOUBLE_SECONDS", ""))
        self._factor = float(os.environ.get("ENGINE_DOUBLE_SLOW", "1"))

    def has(self, entry: str) -> bool:
        return entry in self._entries

    def wait(self, phase: str, part: float = 1.0) -> None:
        """Let the phase, or a part of it, take its time."""
        time.sleep(self._seconds[phase] * part * self._factor)

    def values(self, source: str) -> list[tuple[str, Any]]:
        """The wrong values that `source` (server_info, journal) shall give, as pairs of name and value."""
        pairs = [entry.partition(":")[2].partition("=") for entry in self._entries if entry.startswith(f"{source}:")]
        return [(name, _value(text)) for name, _equals, text in pairs]


def _seconds(text: str) -> dict[str, float]:
    total = DEFAULT_SECONDS if not text or "=" in text else float(text)
    seconds = {phase: share * total for phase, share in SHARES.items()}
    if "=" in text:
        for part in text.split(","):
            phase, _equals, value = part.strip().partition("=")
            if phase not in SHARES:
                raise SystemExit(f"ENGINE_DOUBLE_SECONDS names the phase {phase}; phases are {', '.join(SHARES)}")
            seconds[phase] = float(value)
    return seconds


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
