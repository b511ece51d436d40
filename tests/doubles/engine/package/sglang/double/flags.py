# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of one version, from the option table that its real argparse printed (tests/data/sglang/flags)."""

from __future__ import annotations

import argparse
import ast
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sglang.double import config_file
from sglang.double.dialect import Dialect

TABLE = Path(__file__).with_name("flags.json")
SUFFIXES = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


class _Deprecated(argparse.Action):
    """Accepted with a warning in the engine; what differs from a plain option is that a config file may not use it."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        setattr(namespace, self.dest, True)


class DeprecatedAction(_Deprecated):
    """0.5.9: an option without effect."""


class DeprecatedStoreTrueAction(_Deprecated):
    """0.5.23: `--disable-cuda-graph`, `--enable-dp-attention`."""


class DeprecatedStoreConstAction(_Deprecated):
    """0.5.23: `--monokernel-backend`."""


class LoRAPathAction(argparse.Action):
    """A list; config files may not use it either."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        setattr(namespace, self.dest, values)


def _readable_int(value: str) -> int:
    for suffix in sorted(SUFFIXES, key=len, reverse=True):
        if value.endswith(suffix):
            return int(float(value[: -len(suffix)]) * SUFFIXES[suffix])
    return int(value)


def _nullable(value: str) -> Any:
    return None if value in ("", "None") else value


TYPES: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "str": str,
    "loads": json.loads,
    "json_list_type": json.loads,
    "nullable_str": _nullable,
    "human_readable_int": _readable_int,
    "parse_cuda_graph_backend_arg": str,
    "parse_cuda_graph_config_arg": json.loads,
}
ACTIONS: dict[str, Any] = {
    "StoreAction": "store",
    "StoreTrueAction": "store_true",
    "BooleanOptionalAction": argparse.BooleanOptionalAction,
    "DeprecatedAction": DeprecatedAction,
    "DeprecatedStoreTrueAction": DeprecatedStoreTrueAction,
    "DeprecatedStoreConstAction": DeprecatedStoreConstAction,
    "LoRAPathAction": LoRAPathAction,
}


def parse(arguments: Sequence[str], dialect: Dialect) -> tuple[argparse.Namespace, str]:
    """The arguments as the engine reads them, and as one line with the config file's among them.

    Exits with status 2, as argparse does, on an option that this version lacks.
    """
    parser = build(dialect)
    words = list(arguments)
    if "--config" in words:
        words = config_file.merged(words, parser, dialect)
    return parser.parse_args(words), " ".join(words)


def build(dialect: Dialect) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=dialect.program)
    for names, option in _options(json.loads(TABLE.read_text(encoding="utf-8"))):
        if option["action"] == "BooleanOptionalAction":
            names = [name for name in names if not name.startswith("--no-")]  # argparse adds these itself
        if option["action"] != "HelpAction":
            parser.add_argument(*names, **_keywords(option))
    return parser


def _options(table: dict[str, dict[str, Any]]) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """Options with all their names; the table has one row per name, names of one option side by side."""
    names: list[str] = []
    current: dict[str, Any] = {}
    for name, option in table.items():
        if names and option == current:
            names.append(name)
            continue
        if names:
            yield names, current
        names, current = [name], option
    if names:
        yield names, current


def _keywords(option: dict[str, Any]) -> dict[str, Any]:
    action = option["action"]
    keywords: dict[str, Any] = {
        "action": ACTIONS[action],
        "dest": option["dest"],
        "default": _default(option.get("default")),
    }
    if action in ("StoreTrueAction", "BooleanOptionalAction"):
        return keywords
    keywords["nargs"] = 0 if option.get("nargs") == "0" else option.get("nargs")
    keywords["type"] = TYPES[option.get("type", "str")]
    keywords["choices"] = _choices(option)
    if action == "StoreAction":
        keywords["required"] = option.get("required", False)
        if option.get("nargs") == "?":
            keywords["const"] = option.get("const")
    return keywords


def _choices(option: dict[str, Any]) -> Any:
    choices = option.get("choices")
    return None if choices is None else [TYPES[option.get("type", "str")](choice) for choice in choices]


def _default(value: Any) -> Any:
    """The table prints a list as text; text that only looks like one (JSON options) stays text."""
    if isinstance(value, str) and value.startswith("["):
        return ast.literal_eval(value)
    return value
