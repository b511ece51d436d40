# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`--config FILE` as SGLang merges it (`ConfigArgumentMerger` of 0.5.9 and 0.5.23): what the file says, then the command line."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from sglang.double import yaml_subset
from sglang.double.dialect import Dialect


def merged(words: list[str], parser: argparse.ArgumentParser, dialect: Dialect) -> list[str]:
    """The file's options in front of the command line's, so that the latter win."""
    path = _path(words)
    content = _read(path)
    at = words.index("--config")
    return _as_arguments(content, parser, dialect) + words[:at] + words[at + 2 :]


def _path(words: list[str]) -> str:
    if words.count("--config") > 1:
        raise ValueError("Multiple config files specified! Only one allowed.")
    at = words.index("--config")
    if at == len(words) - 1:
        raise ValueError("No config file specified after --config flag!")
    return words[at + 1]


def _read(name: str) -> dict[str, Any]:
    path = Path(name)
    if path.suffix.lower() not in (".yaml", ".yml"):
        raise ValueError(f"Config file must be YAML format, got: {path.suffix}")
    if not path.exists():
        raise ValueError(f"Config file not found: {name}")
    content = yaml_subset.load(path.read_text(encoding="utf-8"))
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ValueError("Config file must contain a dictionary at root level")
    return content


def _as_arguments(content: dict[str, Any], parser: argparse.ArgumentParser, dialect: Dialect) -> list[str]:
    switches, unsupported = _kinds(parser, dialect)
    words: list[str] = []
    for key, value in content.items():
        name = key.replace("-", "_")
        if name in unsupported:
            raise ValueError(f"Unsupported config option '{name}' with action '{unsupported[name]}'")
        if isinstance(value, bool):
            if name not in switches:
                words += [f"--{key}", str(value).lower()]
            elif value:
                words.append(f"--{key}")
        elif isinstance(value, list):
            if value:
                words += [f"--{key}", *(str(item) for item in value)]
        elif isinstance(value, dict) and dialect.config_takes_dictionaries:
            words += [f"--{key}", json.dumps(value)]
        else:
            words += [f"--{key}", str(value)]
    return words


def _kinds(parser: argparse.ArgumentParser, dialect: Dialect) -> tuple[set[str], dict[str, str]]:
    """Keys that are switches, and keys that the merger refuses with the name of their action."""
    switches: set[str] = set()
    supported: set[str] = set()
    unsupported: dict[str, str] = {}
    for action in parser._actions:
        keys = _keys(action, dialect)
        if isinstance(action, argparse._StoreTrueAction):
            switches |= keys
            supported |= keys
        elif isinstance(action, argparse._StoreAction) or (dialect.config_takes_dictionaries and action.nargs is None):
            supported |= keys
        elif "--help" not in action.option_strings:
            unsupported.update(dict.fromkeys(keys, type(action).__name__))
    return switches, {
        key: kind for key, kind in unsupported.items() if key not in supported or not dialect.config_takes_dictionaries
    }


def _keys(action: argparse.Action, dialect: Dialect) -> set[str]:
    """0.5.9 knows an option by its destination only, 0.5.23 by each of its long names too."""
    keys = {action.dest}
    if dialect.config_takes_dictionaries:
        keys |= {name[2:].replace("-", "_") for name in action.option_strings if name.startswith("--")}
    return keys
