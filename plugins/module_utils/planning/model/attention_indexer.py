# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which layers keep the keys of a sparse indexer (DSA), from config.json. Private to the collection, may change any time."""

from __future__ import annotations

from ..fields import Fields
from .attention_keys import listed_layers

_MAX_FREQUENCY = 100_000


def index_pattern_of(text: Fields, layers: int) -> str | None:
    """One letter a layer, k for own index keys and r for those of an earlier layer; None where every layer keeps its own.

    The engine looks at indexer_types, then index_topk_pattern, then index_topk_freq with index_skip_topk_offset (SGLang
    0.5.18 to 0.5.23). GLM-5.2: 21 of 78 layers keep keys.
    """
    if text.has("indexer_types"):
        reuses = [kind == "shared" for kind in listed_layers(text, "indexer_types", layers)]
    elif text.has("index_topk_pattern"):
        reuses = [kind == "S" for kind in listed_layers(text, "index_topk_pattern", layers)]
    else:
        frequency = text.optional_whole("index_topk_freq", 1, _MAX_FREQUENCY) or 1
        first = (text.optional_whole("index_skip_topk_offset", 1, _MAX_FREQUENCY) or 2) - 1
        reuses = [max(layer - first, 0) % frequency != 0 for layer in range(layers)]
    return "".join("r" if reuse else "k" for reuse in reuses) if any(reuses) else None
