# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of `name value` lines. Private to the collection, may change any time."""

from __future__ import annotations

import re

_KIB_LINE = re.compile(r"^(?:Node \d+ )?([^:]+):\s+(\d+)( kB)?$")


def meminfo(text: str | None) -> dict[str, int]:
    """`/proc/meminfo` or a NUMA node's `meminfo`: bytes for the lines in kB, plain numbers for the others."""
    found = (_KIB_LINE.match(line.strip()) for line in (text or "").splitlines())
    return {match[1]: int(match[2]) * (1024 if match[3] else 1) for match in found if match}


def kstat(text: str | None) -> dict[str, int]:
    """A ZFS kstat table (`name type data`): the numeric rows."""
    rows = (line.split() for line in (text or "").splitlines())
    return {row[0]: int(row[2]) for row in rows if len(row) == 3 and row[2].isdigit()}


def colon_lines(text: str | None) -> dict[str, str]:
    """Lines of `name: value`, the first of each name."""
    found: dict[str, str] = {}
    for line in (text or "").splitlines():
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip(), value.strip())
    return found
