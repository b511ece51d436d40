# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engine flags: the operator's are checked, the plan's are named. Private to the collection, may change any time."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import EngineError
from ansible_collections.blackwell.inference.plugins.module_utils.engine.dialect import NEWEST, Dialect, flag_names
from ansible_collections.blackwell.inference.plugins.module_utils.engine.flag_table import Flag, FlagTable

# What became of a flag that an older version had; read from the option tables and sources of 0.5.9 to 0.5.23.
SUCCESSORS: dict[str, str] = {
    "cuda-graph-bs": "cuda-graph-bs-decode is its name since 0.5.20",
    "cuda-graph-max-bs": "cuda-graph-max-bs-decode is its name since 0.5.20",
    "disable-cuda-graph": "the server config takes disable-decode-cuda-graph and disable-prefill-cuda-graph instead",
    "disable-hicache-numa-detect": "it went in 0.5.10, where numa-node is found by itself",
    "disable-piecewise-cuda-graph": "disable-prefill-cuda-graph is its name since 0.5.20",
    "enable-dp-attention": "the server config takes attn-dp-size instead",
    "enable-nsa-prefill-context-parallel": "it went in 0.5.20 without a successor",
    "enable-piecewise-cuda-graph": "it is on by default since 0.5.10; cuda-graph-backend-prefill chooses the kind",
    "hybrid-kvcache-ratio": "it no longer counts, and swa-full-tokens-ratio does its work",
    "keep-mm-feature-on-device": "mm-feature-transport replaced it in 0.5.21",
    "mamba-scheduler-strategy": "mamba-radix-cache-strategy is its name since 0.5.20",
    "monokernel-backend": "enable-amd-monokernel replaced it",
    "nsa-decode-backend": "dsa-decode-backend is its name since 0.5.20",
    "nsa-prefill-backend": "dsa-prefill-backend is its name since 0.5.20",
    "piecewise-cuda-graph-max-tokens": "cuda-graph-max-bs-prefill is its name since 0.5.20",
    "piecewise-cuda-graph-tokens": "cuda-graph-bs-prefill is its name since 0.5.20",
    "piecewise-cuda-graph-compiler": "it went in 0.5.20 without a successor",
    "prefill-round-robin-balance": "it went in 0.5.20 without a successor",
    "stream-output": "incremental-streaming-output is its name since 0.5.20",
    "torchao-config": "it went by 0.5.19 without a successor",
}
_SECRETS = ("api-key", "admin-api-key")
# Flags that the instance sets itself, and the variable that says them.
_OWN = {
    "host": "inference_address",
    "model-path": "inference_model_path",
    "port": "inference_port",
    "served-model-name": "inference_served_model_name",
}


def checked_arguments(dialect: Dialect, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The operator's flags; a null takes one away. Raises EngineError with a sentence for each flag that will not do."""
    given = {str(name): value for name, value in arguments.items() if value is not None}
    faults = [fault for name, value in sorted(given.items()) for fault in [_fault(dialect, name, value)] if fault]
    faults += _twice(dialect, given)
    if faults:
        raise EngineError(
            " ".join(faults),
            refusals=[{"name": "argument", "message": fault, "overridable": False} for fault in faults],
        )
    return {name: _plain(value) for name, value in sorted(given.items())}


def engine_arguments(dialect: Dialect, settings: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Every flag for the server config: the plan's settings under this version's names, and the operator's further flags."""
    names = flag_names(dialect.version)
    own = {names[key]: value for key, value in settings.items()}
    faults = [fault for name, value in own.items() for fault in [_fault_in_table(dialect, name, value)] if fault]
    if faults:
        raise EngineError(
            " ".join(faults),
            refusals=[{"name": "argument", "message": fault, "overridable": False} for fault in faults],
        )
    return {**arguments, **own}


def _fault(dialect: Dialect, name: str, value: Any) -> str | None:
    if name in _SECRETS:
        return f"arguments has {name}, which would be written into the plan and the logs: give the key in inference_api_key."
    if name == "config":
        return "arguments has config; the server config is what this collection writes: give its entries in arguments."
    if name.startswith("-") or "_" in name:
        return f"arguments has '{name}'; expected the flag's name with hyphens inside and none in front: write '{name.lstrip('-').replace('_', '-')}'."
    first = _first_name(dialect.flags, name)
    if first in _OWN:
        return f"arguments has {name}, which the instance decides: set {_OWN[first]} instead."
    planned = {_first_name(dialect.flags, flag): key for key, flag in flag_names(dialect.version).items()}
    if first in planned:
        return (
            f"arguments has {name}, which planning decides: set serving.{planned[first]} (inference_serving) instead."
        )
    return _fault_in_table(dialect, name, value)


def _fault_in_table(dialect: Dialect, name: str, value: Any) -> str | None:
    table = dialect.flags
    if table is None:
        return None
    flag = table.flags.get(name)
    if flag is None or flag.kind == "deprecated":
        return _unknown(dialect, table, name)
    return None if flag.takes(value) else _wrong(dialect, name, flag, value)


def _unknown(dialect: Dialect, table: FlagTable, name: str) -> str:
    start = f"arguments has {name}; SGLang {dialect.version.text} has no flag --{name}"
    if name in SUCCESSORS:
        return f"{start}: {SUCCESSORS[name]}."
    if name in NEWEST.flags and table.version != NEWEST.version:
        return f"{start}, SGLang {NEWEST.version} has it: leave it out, or raise inference_sglang_version."
    near = difflib.get_close_matches(name, sorted(table.flags), n=1)
    return (
        f"{start}: did you mean {near[0]}?" if near else f"{start}: leave it out, or look it up in the engine's --help."
    )


def _wrong(dialect: Dialect, name: str, flag: Flag, value: Any) -> str:
    shown = json.dumps(value, default=str)[:80]
    return f"arguments has {name} with the value {shown}; SGLang {dialect.version.text} expects {flag.expected()}."


def _twice(dialect: Dialect, given: Mapping[str, Any]) -> list[str]:
    firsts: dict[str, str] = {}
    faults = []
    for name in sorted(given):
        first = _first_name(dialect.flags, name)
        if first in firsts:
            faults.append(f"arguments has {firsts[first]} and {name}, which are one flag: keep one of them.")
        firsts.setdefault(first, name)
    return faults


def _first_name(table: FlagTable | None, name: str) -> str:
    return table.flags[name].name if table is not None and name in table.flags else name


def _plain(value: Any) -> Any:
    """The server config knows no dictionaries up to 0.5.9; JSON text is understood by all."""
    return json.dumps(value, sort_keys=True) if isinstance(value, dict) else value
