# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record the options that one version's real parser has, as data for the flag tables.

    pip download --no-deps sglang==VERSION && unzip sglang-VERSION-*.whl -d SOURCE
    PYTHONPATH=tests/engine/shims python3.11 tests/engine/record_flags.py SOURCE --stand-in torchvision \\
        --out tests/data/sglang/flags/VERSION.json
    python3 tests/tools/make_flag_tables.py

Run it with an interpreter that has a CPU build of torch, the transformers that the wheel pins, and what the engine imports besides: PROVENANCE.md
beside the recordings names all of it. A package that has only CUDA builds is replaced by a stand-in; no option may depend on one.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import logging
import os
import sys
import tempfile
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

PLAIN = (bool, int, float, str, type(None))
# Values that show whether a flag can be given at all, tried in this order.
SAMPLES = ("1", "0.5", "{}", "[]", "full", "prefill:full", "x")


class Anything:
    """Stands for whatever a package without a CPU build would have offered; as a decorator it changes nothing."""

    def __init__(self, *_arguments: Any, **_keywords: Any) -> None:
        pass

    def __call__(self, *arguments: Any, **_keywords: Any) -> Any:
        return arguments[0] if len(arguments) == 1 and callable(arguments[0]) else Anything()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __getitem__(self, _key: Any) -> Any:
        return Anything()

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __mro_entries__(self, _bases: Any) -> tuple[type, ...]:
        return (object,)

    def __or__(self, _other: Any) -> Any:
        return Anything()

    __ror__ = __or__


class StandIn(types.ModuleType):
    __path__: list[str] = []  # noqa: RUF012  # what makes a module a package
    __version__ = "999.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The finder asked first, for the packages named."""

    def __init__(self, packages: Sequence[str]) -> None:
        self.packages = set(packages)

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] in self.packages:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def real_parser() -> tuple[argparse.ArgumentParser, Any]:
    """The parser with all its options, and the class that merges a config file into a command line."""
    server_args = importlib.import_module("sglang.srt.server_args")
    parser = argparse.ArgumentParser()
    server_args.ServerArgs.add_cli_args(parser)
    try:
        merging = importlib.import_module("sglang.srt.utils.server_args_config_parser")
    except ModuleNotFoundError:
        merging = importlib.import_module("sglang.srt.server_args_config_parser")
    return parser, merging.ConfigArgumentMerger


def table_of(parser: argparse.ArgumentParser, merger_class: Any) -> dict[str, dict[str, Any]]:
    """One row per option string, in the parser's order."""
    table: dict[str, dict[str, Any]] = {}
    for action in parser._actions:
        for option in action.option_strings:
            row = {
                "action": type(action).__name__.lstrip("_"),
                "dest": action.dest,
                "nargs": None if action.nargs is None else str(action.nargs),
                "type": getattr(action.type, "__name__", None) if action.type else None,
                "default": action.default if isinstance(action.default, PLAIN) else str(action.default),
                "const": action.const if isinstance(action.const, PLAIN) else str(action.const),
                "choices": sorted(str(choice) for choice in action.choices) if action.choices is not None else None,
                "required": action.required or None,
            }
            if option.startswith("--") and option not in ("--help", "--config"):
                row["config"] = None if from_config(parser, merger_class, action, option) else False
            table[option] = {key: value for key, value in row.items() if value is not None}
    return table


def from_config(parser: argparse.ArgumentParser, merger_class: Any, action: argparse.Action, option: str) -> bool:
    """Whether the engine takes this option from a config file, tried with the real merger and the real parser."""
    value = sample_of(parser, action, option)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
        json.dump({option.removeprefix("--"): value}, config)
        config.flush()
        try:
            merged = merger(merger_class, parser).merge_config_with_args(["--config", config.name])
        except ValueError:
            return False
    return parses(parser, merged)


def merger(merger_class: Any, parser: argparse.ArgumentParser) -> Any:
    """As `prepare_server_args` makes it: up to 0.5.7 it is given no parser, and names of actions that never are any."""
    try:
        return merger_class(parser=parser)
    except TypeError:
        return merger_class(boolean_actions=[])


def sample_of(parser: argparse.ArgumentParser, action: argparse.Action, option: str) -> Any:
    """A value that the command line takes, as the config file would hold it. Raises LookupError when none of the samples is one."""
    if action.nargs == 0 or isinstance(action, argparse.BooleanOptionalAction):
        return True
    choices = sorted(str(choice) for choice in action.choices) if action.choices else []
    for value in (*choices[:1], *SAMPLES):
        if parses(parser, [option, value]):
            return [value] if action.nargs in ("+", "*") else value
    raise LookupError(f"{option} takes none of {', '.join(SAMPLES)}: add a sample that it takes.")


def parses(parser: argparse.ArgumentParser, words: Sequence[str]) -> bool:
    needed = [] if any(word in ("--model-path", "--model") for word in words) else ["--model-path", "m"]
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            parser.parse_args([*words, *needed])
        except (SystemExit, ValueError):
            return False
    return True


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("source", type=Path, help="folder of the unpacked wheel")
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--stand-in", action="append", default=[], help="a package to replace, again for each")
    chosen = options.parse_args()
    sys.path.insert(0, str(chosen.source.resolve()))
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    sys.meta_path.insert(0, StandIns(chosen.stand_in))
    logging.disable(logging.CRITICAL)
    table = table_of(*real_parser())
    rows = ",\n".join(f"{json.dumps(option)}: {json.dumps(row)}" for option, row in table.items())
    chosen.out.write_text("{\n" + rows + "\n}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
