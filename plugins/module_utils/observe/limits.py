# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much memory this process may lock. Private to the collection, may change any time."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ansible_collections.blackwell.inference.plugins.module_utils.observe.files import HostFiles

_LINE = re.compile(r"^Max locked memory\s+(\w+)\s+(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Memlock:
    """None: unlimited. A unit sets its own limit; the hard one of a container bounds even that."""

    soft_bytes: int | None
    hard_bytes: int | None


def read_memlock(files: HostFiles) -> Memlock:
    found = _LINE.search(files.text("/proc/self/limits") or "")
    if found is None:
        files.note("memlock", "/proc/self/limits has no line 'Max locked memory'")
        return Memlock(None, None)
    soft, hard = (None if word == "unlimited" else int(word) for word in found.groups())
    return Memlock(soft, hard)
