# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engine flags: the operator's are checked, the plan's are named. Private to the collection, may change any time."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any

from ..core.errors import EngineError
from .dialect import COMPANIONS, FLAG_NAMES, Dialect, flags_of
from .flags.changes import RENAMED, SUCCESSORS
from .flags.table import Flag, FlagTable, versions_with
from .version import EngineVersion

_SECRETS = ("api-key", "admin-api-key")
# Flags that the instance sets itself, and the variable that says them.
_OWN = {
    "host": "inference_address",
    "model-path": "inference_model_path",
    "port": "inference_port",
    "served-model-name": "inference_served_model_name",
    "speculative-draft-model-path": "inference_draft_model_path",
}
# Values that the parser still takes and the engine then refuses, since when, and what took their place.
_GONE_VALUES = {("kv-cache-dtype", "fp4_e2m1"): ("0.5.17", "fp4_mx_block16")}
# Flags that planning decides, by every name that they have had, and the key of inference_serving.
_PLANNED = {
    name: key
    for key, rows in FLAG_NAMES.items()
    for _since, flag in rows
    for name in (flag, *COMPANIONS.get(flag, ()))
    if flag not in _OWN
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
    own = flags_of(dialect.version, settings)
    found = [(name, _fault_in_table(dialect, name, value)) for name, value in own.items()]
    faults = [_of_wish(name, fault) for name, fault in found if fault]
    if faults:
        raise EngineError(
            " ".join(faults),
            refusals=[{"name": "argument", "message": fault, "overridable": False} for fault in faults],
        )
    return {**arguments, **own}


def _of_wish(name: str, fault: str) -> str:
    """A fault of a flag that planning renders is one of the wish that it stands for."""
    wish = f"serving.{_PLANNED[name]}" if name in _PLANNED else _OWN[name]
    return f"{wish} becomes {fault.removeprefix('arguments has ')}"


def _fault(dialect: Dialect, name: str, value: Any) -> str | None:
    if name in _SECRETS:
        return f"arguments has {name}, which would be written into the plan and the logs: give the key in inference_api_key."
    if name == "config":
        return "arguments has config; the server config is what this collection writes: give its entries in arguments."
    if name.startswith("-") or "_" in name:
        return f"arguments has '{name}'; expected the flag's name with hyphens inside and none in front: write '{name.lstrip('-').replace('_', '-')}'."
    first = _first_name(dialect.flags, name)
    owned = _meant(dialect.flags, name, first, _OWN)
    if owned:
        return f"arguments has {name}, which the instance decides: set {owned} instead."
    planned = _meant(dialect.flags, name, first, _PLANNED)
    if planned:
        return f"arguments has {name}, which planning decides: set serving.{planned} (inference_serving) instead."
    return _fault_in_table(dialect, name, value)


def _meant(table: FlagTable, name: str, first: str, known: Mapping[str, str]) -> str | None:
    """What `known` holds for a flag by this name, or by any other name that the option has in this version."""
    by_first = {_first_name(table, other): value for other, value in known.items()}
    return known.get(name) or by_first.get(first)


def _fault_in_table(dialect: Dialect, name: str, value: Any) -> str | None:
    flag = dialect.flags.flags.get(name)
    if flag is None:
        return _unknown(dialect, name)
    if flag.kind == "idle":
        return f"arguments has {name}, with which SGLang {dialect.version.text} does nothing{_instead(name)}"
    if name in dialect.flags.barred:
        return _barred(dialect, name)
    if not flag.takes(value):
        return _wrong(dialect, name, flag, value)
    gone = _GONE_VALUES.get((name, str(value)))
    if gone is None or dialect.version < EngineVersion.parse(gone[0]):
        return None
    return f"arguments has {name} with the value {value}, which SGLang refuses since {gone[0]}: write {gone[1]}."


def _unknown(dialect: Dialect, name: str) -> str:
    start = f"arguments has {name}; SGLang {dialect.version.text} has no flag --{name}"
    table = dialect.flags
    older = [old for old, change in RENAMED.items() if change.name == name and _usable(table, old)]
    if older:
        return f"{start}: {older[0]} is its name before {RENAMED[older[0]].since}."
    came = next((v for v in versions_with(name) if EngineVersion.parse(v) > EngineVersion.parse(table.version)), None)
    if came:
        return f"{start}, which came in {came}: leave it out, or raise inference_sglang_version."
    if name in SUCCESSORS:
        return f"{start}: {SUCCESSORS[name]}."
    near = difflib.get_close_matches(name, sorted(table.flags), n=1)
    return (
        f"{start}: did you mean {near[0]}?" if near else f"{start}: leave it out, or look it up in the engine's --help."
    )


def _barred(dialect: Dialect, name: str) -> str:
    """On the command line the flag would do; the server config is read by rules of its own."""
    start = f"arguments has {name}; the server config of SGLang {dialect.version.text} does not take --{name}"
    older = [old for old, change in RENAMED.items() if change.name == name and _usable(dialect.flags, old)]
    return f"{start}, only its older name: write {older[0]}." if older else f"{start}{_instead(name)}"


def _instead(name: str) -> str:
    return f": {SUCCESSORS[name]}." if name in SUCCESSORS else ": leave it out."


def _usable(table: FlagTable, name: str) -> bool:
    return name in table.flags and name not in table.barred and table.flags[name].kind != "idle"


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


def _first_name(table: FlagTable, name: str) -> str:
    return table.flags[name].name if name in table.flags else name


def _plain(value: Any) -> Any:
    """The server config knows no dictionaries up to 0.5.13; JSON text is understood by all."""
    return json.dumps(value, sort_keys=True) if isinstance(value, dict) else value
