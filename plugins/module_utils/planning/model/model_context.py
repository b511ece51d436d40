# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The longest context that the engine derives from a checkpoint. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..fields import Fields, is_number

MAX_CONTEXT = 1_000_000_000
# The engine reads the first of these that is there (SGLang 0.5.5 to 0.5.23).
_CONTEXT_KEYS = ("max_sequence_length", "seq_length", "max_seq_len", "model_max_length", "max_position_embeddings")


def longest_context(text: Fields) -> int:
    """The declared length, times a rope factor that is not yet in it (SGLang 0.5.5 to 0.5.23)."""
    scaling = text.data.get("rope_scaling")
    factor: Any = 1
    if (
        isinstance(scaling, Mapping)
        and "original_max_position_embeddings" not in scaling
        and scaling.get("rope_type") != "llama3"
    ):
        factor = scaling.get("factor", 1)
    key = next((key for key in _CONTEXT_KEYS if text.has(key)), "max_position_embeddings")
    declared = text.whole(key, 1, MAX_CONTEXT)
    return max(1, int(min(float(MAX_CONTEXT), declared * factor))) if is_number(factor) and factor > 0 else declared
