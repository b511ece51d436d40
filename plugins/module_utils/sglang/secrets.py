# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of the journal without what must not be seen. Private to the collection, may change any time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .log_lines import is_argument_dump

HIDDEN = "********"
_PATTERNS = (
    # --api-key X, api_key='X', "hf_token": "X", password=X, HF_TOKEN=X
    re.compile(
        r"(?i)((?:api|admin|secret|access|private|watermark)[-_]?(?:api[-_]?)?key|(?:hf|auth|access|bearer)[-_]?token|password|passwd|secret)"
        r"""(['"]?\s*[:= ]\s*)(['"]?)[^\s'",)}]+\3"""
    ),
    re.compile(r"(?i)(authorization['\"]?\s*[:=]\s*['\"]?(?:bearer|basic))(\s+)()[^\s'\"]+"),
    re.compile(r"(://[^/\s:@]+)(:)()[^/\s@]+(?=@)"),
    re.compile(r"\b(hf)(_)()[A-Za-z0-9]{16,}"),
)


def without_secrets(lines: Iterable[str], known: Sequence[str] = ()) -> list[str]:
    """`lines` fit to be shown: argument dumps are left out, values that look like secrets and all `known` ones are hidden."""
    shown = []
    for line in lines:
        if is_argument_dump(line):
            continue
        for value in known:
            line = line.replace(value, HIDDEN) if value else line
        for pattern in _PATTERNS:
            line = pattern.sub(rf"\1\2{HIDDEN}", line)
        shown.append(line)
    return shown
