# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How one range of SGLang versions speaks. Private to the collection, may change any time.

A dialect holds from its version up to the next one's. The newest also serves versions that nobody here has read yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import EngineError
from ansible_collections.blackwell.inference.plugins.module_utils.core.sizing_rules import SizingRules
from ansible_collections.blackwell.inference.plugins.module_utils.engine import flags_0_5_9, flags_0_5_23
from ansible_collections.blackwell.inference.plugins.module_utils.engine.flag_table import FlagTable
from ansible_collections.blackwell.inference.plugins.module_utils.engine.sizing import sizing_rules
from ansible_collections.blackwell.inference.plugins.module_utils.engine.version import EngineVersion

# Oldest first. A table speaks for its own version; between two rows there is none.
DIALECTS: tuple[FlagTable, ...] = (flags_0_5_9.TABLE, flags_0_5_23.TABLE)
OLDEST, NEWEST = DIALECTS[0], DIALECTS[-1]


@dataclass(frozen=True)
class Dialect:
    """`flags` is None for a version whose options are not recorded: then nothing about its flags can be promised."""

    name: str
    version: EngineVersion
    rules: SizingRules
    flags: FlagTable | None
    notes: tuple[str, ...]


def dialect_for(version_text: Any) -> Dialect:
    """The dialect of a version; older than the oldest is refused."""
    version = EngineVersion.parse(version_text)
    if version < EngineVersion.parse(OLDEST.version):
        raise EngineError(
            f"SGLang {version.text} is older than {OLDEST.version}, the oldest version that is known here: "
            f"set inference_sglang_version to {OLDEST.version} or newer, for example {NEWEST.version}."
        )
    table = [row for row in DIALECTS if EngineVersion.parse(row.version) <= version][-1]
    notes: tuple[str, ...] = ()
    flags: FlagTable | None = table
    if version > EngineVersion.parse(NEWEST.version):
        notes = (f"SGLang {version.text} is newer than any version known here: it is treated like {NEWEST.version}.",)
    elif version.parts[:3] != EngineVersion.parse(table.version).parts[:3]:
        flags = None
        notes = (f"The options of SGLang {version.text} are not recorded here: its flags are not validated.",)
    return Dialect(table.version, version, sizing_rules(version), flags, notes)


# serving key -> (first version, flag), oldest first
_FLAG_OF: Mapping[str, tuple[tuple[str, str], ...]] = {
    "device": (("0.5.9", "device"),),
    "tp": (("0.5.9", "tp-size"),),
    "mem_fraction_static": (("0.5.9", "mem-fraction-static"),),
    "context_length": (("0.5.9", "context-length"),),
    "max_running_requests": (("0.5.9", "max-running-requests"),),
    "max_total_tokens": (("0.5.9", "max-total-tokens"),),
    "chunked_prefill_size": (("0.5.9", "chunked-prefill-size"),),
    "max_prefill_tokens": (("0.5.9", "max-prefill-tokens"),),
    # 0.5.14 to 0.5.19 know both names, 0.5.20 and later the second
    "cuda_graph_max_bs": (("0.5.9", "cuda-graph-max-bs"), ("0.5.14", "cuda-graph-max-bs-decode")),
    "page_size": (("0.5.9", "page-size"),),
    "kv_cache_dtype": (("0.5.9", "kv-cache-dtype"),),
    "hicache": (("0.5.9", "enable-hierarchical-cache"),),
    "hicache_size": (("0.5.9", "hicache-size"),),
    "hicache_ratio": (("0.5.9", "hicache-ratio"),),
    "hicache_write_policy": (("0.5.9", "hicache-write-policy"),),
    "hicache_io_backend": (("0.5.9", "hicache-io-backend"),),
    "hicache_mem_layout": (("0.5.9", "hicache-mem-layout"),),
}


def flag_names(version: EngineVersion) -> dict[str, str]:
    """The flag of each serving key in this version."""
    return {
        key: [flag for since, flag in rows if EngineVersion.parse(since) <= version][-1]
        for key, rows in _FLAG_OF.items()
    }
