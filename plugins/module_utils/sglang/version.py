# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions of the engine and their order. Private to the collection, may change any time."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ..core.errors import EngineError

_PATTERN = re.compile(
    r"^(\d{1,4})\.(\d{1,4})\.(\d{1,4})(?:\.post(\d{1,4}))?(?:\.?(?:rc|dev)\d{1,8})?(?:\+[\w.]{1,64})?$"
)


@dataclass(frozen=True, order=True)
class EngineVersion:
    """`0.5.9`, `0.5.10.post1`; a release candidate counts as its release, a local suffix (`+g1234`) as nothing."""

    parts: tuple[int, ...]
    text: str = field(compare=False)

    @classmethod
    def parse(cls, text: Any) -> EngineVersion:
        matched = _PATTERN.match(text) if isinstance(text, str) else None
        if matched is None:
            raise EngineError(
                f'The engine version is {text!r}, which is no version of SGLang: write it like "0.5.9" or "0.5.10.post1", in quotes.'
            )
        return cls(tuple(int(part or 0) for part in matched.groups()), text)
