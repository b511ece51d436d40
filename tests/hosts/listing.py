# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of a host, all seen at once: a call for each fact would cost more than the deployment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pytest
from testinfra.host import Host


@dataclass(frozen=True)
class Entry:
    """What `stat` says of a path; a link is not followed."""

    kind: str
    user: str
    group: str
    mode: str


@dataclass(frozen=True)
class Listing:
    entries: Mapping[str, Entry]

    def __getitem__(self, path: str) -> Entry:
        if path not in self.entries:
            pytest.fail(f"There is no {path} on the host.", pytrace=False)
        return self.entries[path]


def listing(host: Host, paths: Iterable[str]) -> Listing:
    """Of paths without blanks."""
    found = host.run(f"stat --format='%n %U %G %04a %F' {' '.join(paths)}").stdout
    rows = [line.split(" ", 4) for line in found.splitlines()]
    return Listing({path: Entry(kind, user, group, mode) for path, user, group, mode, kind in rows})
