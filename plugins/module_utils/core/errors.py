# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The root of the collection's errors. Private to the collection, may change any time.

InferenceError              a sentence: what was seen, what was expected, what to do next
├── ObservationError        the host could not be read (observe)
├── ModelError              a model directory or profile that cannot be understood (planning)
├── PlanningError           a wish that cannot be met; carries the refusals (planning)
├── ReleaseError            GPUs that cannot be released as asked; raised before anything is signalled (release)
└── EngineError             an engine version, flag or answer that is not known (engine)
"""

from __future__ import annotations

from typing import Any


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
