# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How one range of SGLang versions speaks. Private to the collection, may change any time.

A dialect holds from its version up to the next one's. The newest also serves versions that nobody here has read yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..core.errors import EngineError
from .flags.table import VERSIONS, FlagTable, flag_table
from .sizing_history import rows_of
from .sizing_rules import SizingRules
from .version import EngineVersion

OLDEST, NEWEST = VERSIONS[0], VERSIONS[-1]
"""How far the engine was read: whatever stands elsewhere in the collection without an end holds up to NEWEST."""
_DIALECTS = tuple(EngineVersion.parse(version) for version in VERSIONS)


@dataclass(frozen=True)
class Dialect:
    """`name` is the version whose options are recorded and hold for `version` too."""

    name: str
    version: EngineVersion
    rules: SizingRules
    flags: FlagTable
    notes: tuple[str, ...]


def dialect_for(version_text: Any) -> Dialect:
    """The dialect of a version; older than the oldest is refused."""
    version = EngineVersion.parse(version_text)
    known = [row for row in _DIALECTS if row <= version]
    if not known:
        raise EngineError(
            f"SGLang {version.text} is older than {OLDEST}, the oldest version that is known here: "
            f"set inference_sglang_version to {OLDEST} or newer, for example {NEWEST}."
        )
    name = known[-1].text
    notes: tuple[str, ...] = ()
    if version > _DIALECTS[-1]:
        notes = (f"SGLang {version.text} is newer than any version known here: it is treated like {NEWEST}.",)
    return Dialect(name, version, sizing_rules(version), flag_table(name), notes)


def sizing_rules(version: EngineVersion) -> SizingRules:
    """The rules of one version: of each field the youngest value that is not newer than it."""
    values = {rule.name: _value_at(rows_of(rule), version) for rule in fields(SizingRules) if rule.metadata}
    return SizingRules(engine_version=version.text, **values)


def _value_at(rows: tuple[tuple[str, Any], ...], version: EngineVersion) -> Any:
    held = rows[0][1]
    for since, value in rows:
        if EngineVersion.parse(since) <= version:
            held = value
    return held


# serving key -> (first version, flag), oldest first
FLAG_NAMES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "device": (("0.5.5", "device"),),
    "tp": (("0.5.5", "tp-size"),),
    "pp": (("0.5.5", "pp-size"),),
    # groups of attention inside tp; 0.5.22 deprecated the switch, which its server config bars since
    "dp": (("0.5.5", "dp-size"), ("0.5.22", "attn-dp-size")),
    "mem_fraction_static": (("0.5.5", "mem-fraction-static"),),
    "context_length": (("0.5.5", "context-length"),),
    "max_running_requests": (("0.5.5", "max-running-requests"),),
    "max_total_tokens": (("0.5.5", "max-total-tokens"),),
    "chunked_prefill_size": (("0.5.5", "chunked-prefill-size"),),
    "max_prefill_tokens": (("0.5.5", "max-prefill-tokens"),),
    # The command line of 0.5.14 to 0.5.19 knows both names, but their server config bars the newer one: the deprecated alias shares its destination.
    "cuda_graph_max_bs": (("0.5.5", "cuda-graph-max-bs"), ("0.5.20", "cuda-graph-max-bs-decode")),
    "page_size": (("0.5.5", "page-size"),),
    "kv_cache_dtype": (("0.5.5", "kv-cache-dtype"),),
    "swa_full_tokens_ratio": (("0.5.5", "swa-full-tokens-ratio"),),
    "mamba_full_memory_ratio": (("0.5.5", "mamba-full-memory-ratio"),),
    "max_mamba_cache_size": (("0.5.5", "max-mamba-cache-size"),),
    "mamba_ssm_dtype": (("0.5.5", "mamba-ssm-dtype"),),
    "speculative_algorithm": (("0.5.5", "speculative-algorithm"),),
    "speculative_num_steps": (("0.5.5", "speculative-num-steps"),),
    "speculative_eagle_topk": (("0.5.5", "speculative-eagle-topk"),),
    "speculative_num_draft_tokens": (("0.5.5", "speculative-num-draft-tokens"),),
    "draft_model_path": (("0.5.5", "speculative-draft-model-path"),),
    "hicache": (("0.5.5", "enable-hierarchical-cache"),),
    "hicache_size": (("0.5.5", "hicache-size"),),
    "hicache_ratio": (("0.5.5", "hicache-ratio"),),
    "hicache_write_policy": (("0.5.5", "hicache-write-policy"),),
    "hicache_io_backend": (("0.5.5", "hicache-io-backend"),),
    "hicache_mem_layout": (("0.5.5", "hicache-mem-layout"),),
}
# flag -> what has to be given with it
COMPANIONS: Mapping[str, Mapping[str, Any]] = {"dp-size": {"enable-dp-attention": True}}
# What every version does unasked; dp-size of 1 would bring attention groups of one.
_UNSAID = {"pp": 1, "dp": 1}


def flag_names(version: EngineVersion) -> dict[str, str]:
    """The flag of each serving key in this version."""
    return {
        key: [flag for since, flag in rows if EngineVersion.parse(since) <= version][-1]
        for key, rows in FLAG_NAMES.items()
    }


def flags_of(version: EngineVersion, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The plan's settings as flags of this version, with what has to be given beside them."""
    names = flag_names(version)
    flags = {names[key]: value for key, value in settings.items() if key not in _UNSAID or value != _UNSAID[key]}
    for flag in list(flags):
        flags.update(COMPANIONS.get(flag, {}))
    return flags
