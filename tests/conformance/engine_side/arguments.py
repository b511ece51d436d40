# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine's command line: its parser, fed with a server config file as the unit of the collection names one."""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import tempfile
from typing import Any

import refusals
import yaml
from sglang.srt.server_args import ServerArgs

try:
    from sglang.srt.server_args_config_parser import ConfigArgumentMerger
except ImportError:
    from sglang.srt.utils.server_args_config_parser import ConfigArgumentMerger  # type: ignore[no-redef]


def answer(case: dict[str, Any]) -> dict[str, Any]:
    return refusals.answered(_answer, case)


def _answer(case: dict[str, Any]) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(case["arguments"], file)
        file.flush()
        told = io.StringIO()
        try:
            with contextlib.redirect_stderr(told):
                merged = _merger(parser).merge_config_with_args(["--config", file.name, "--model-path", "none"])
                parsed = parser.parse_args(merged)
        except (SystemExit, ValueError) as refusal:
            return {"refused": told.getvalue().strip().splitlines()[-1:] or [str(refusal)]}
    by_flag = {flag: action.dest for action in parser._actions for flag in action.option_strings}
    return {flag: getattr(parsed, by_flag[f"--{flag}"]) for flag in case["arguments"] if f"--{flag}" in by_flag}


def _merger(parser: argparse.ArgumentParser) -> Any:
    if "parser" in inspect.signature(ConfigArgumentMerger).parameters:
        return ConfigArgumentMerger(parser)
    return ConfigArgumentMerger([])  # 0.5.5 looks for switches in a way that finds none
