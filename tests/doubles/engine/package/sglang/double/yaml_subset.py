# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""YAML of a server config: PyYAML where it can be imported, as in the engine, else the part of it that such a file uses.

That part: one mapping whose values are scalars, lists of scalars in block or flow style, and flow mappings in JSON.
"""

from __future__ import annotations

import json
import re
from typing import Any

WORDS = {
    "": None,
    "null": None,
    "~": None,
    "true": True,
    "false": False,
    "yes": True,
    "no": False,
    "on": True,
    "off": False,
}
NUMBER = re.compile(r"[-+]?(\d[\d_]*)(\.\d*)?([eE][-+]\d+)?")


def load(text: str) -> Any:
    try:
        import yaml  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        return _mapping(text)
    return yaml.safe_load(text)


def _mapping(text: str) -> Any:
    result: dict[str, Any] = {}
    items: list[Any] = []
    for number, line in enumerate(text.splitlines(), start=1):
        body = _without_comment(line)
        if not body.strip() or body.strip() in ("---", "..."):
            continue
        if body.lstrip().startswith("- "):
            items.append(_scalar(body.lstrip()[2:]))
            continue
        key, separator, value = body.partition(":")
        if not separator or body[0].isspace():
            raise ValueError(f"line {number} of the config is not KEY: VALUE: {line}")
        key = key.strip().strip("\"'")
        if value.strip():
            result[key] = _value(value.strip())
        else:
            items = result[key] = []
    # A key without a value and without items is null, not an empty list.
    return {key: None if value == [] and f"{key}: []" not in text else value for key, value in result.items()} or None


def _without_comment(line: str) -> str:
    match = re.match(r"""((?:[^"'#]|"(?:[^"\\]|\\.)*"|'[^']*'|(?<=\S)#)*)""", line)
    return match.group(1).rstrip() if match else line


def _value(text: str) -> Any:
    if text.startswith("[") and text.endswith("]"):
        return [_scalar(item) for item in text[1:-1].split(",") if item.strip()]
    if text.startswith("{"):
        return json.loads(text)
    return _scalar(text)


def _scalar(text: str) -> Any:
    text = text.strip()
    if text.startswith('"'):
        return json.loads(text)
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    match = NUMBER.fullmatch(text)
    if match is None:
        return text
    # YAML 1.1, as PyYAML reads it: an exponent needs a point.
    if match.group(3) and match.group(2) is None:
        return text
    return float(text) if match.group(2) is not None else int(text.replace("_", ""))
