# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The root of the collection's errors, and refusals. Private to the collection, may change any time.

InferenceError              a sentence: what was seen, what was expected, what to do next
├── ObservationError        the host could not be read (observe, deploy)
├── ModelError              a model directory or profile that cannot be understood (model)
├── PlanningError           an option that cannot be met; carries the refusals (planning)
├── ReleaseError            GPUs that cannot be released as asked; raised before anything is signalled (release)
└── EngineError             an engine version, flag or answer that is not known (sglang)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# name -> what forcing it means; a refusal that is not here cannot be forced, because the start would fail for certain
FORCEABLE: dict[str, str] = {
    "headroom": "start with less free GPU memory than must stay; the first large prefill may run out of memory",
    "gpu_balance": "start on cards of unequal free memory, with SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK=0 in the environment",
    "host_memory": "start although the host keeps less memory than host_reserve_gib",
    "numa_node": "start although the ranks of a NUMA node ask for more than it has, as where numactl is not installed",
    "memlock": "start although the limit of locked memory is smaller than the host cache",
    "context_length": "serve a longer context than the model declares, with SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 in the environment",
    "unsuited": "start what the profile says does not run on such cards, or not well",
    "unplanned_argument": "start with flags whose memory the plan does not count",
}


@dataclass(frozen=True)
class Refusal:
    """`message` says what was seen, what was expected and what to do. `certain`: the start would fail, whatever its name allows."""

    name: str
    message: str
    certain: bool = False

    @property
    def overridable(self) -> bool:
        return self.name in FORCEABLE and not self.certain

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "message": self.message, "overridable": self.overridable}


class InferenceError(Exception):
    """Root of all errors of the collection; its text is shown to the operator as it stands."""

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.details: dict[str, Any] = details


class ObservationError(InferenceError):
    """The host could not be read."""


class ModelError(InferenceError):
    """A model directory or profile that cannot be understood."""


class PlanningError(InferenceError):
    """A wish that cannot be met."""


class ReleaseError(InferenceError):
    """GPUs that cannot be released as asked."""


class EngineError(InferenceError):
    """An engine version, flag or answer that is not known."""
