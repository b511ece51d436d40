# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words for sentences, and times (seconds since 1970) as they are written. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone


def iso(seconds: float) -> str:
    """For programs: "2026-11-30T10:00:00Z"."""
    return _written(seconds, "%Y-%m-%dT%H:%M:%SZ")


def utc(seconds: float) -> str:
    """For people, and as journalctl takes it too: "2026-11-30 10:00:00 UTC"."""
    return _written(seconds, "%Y-%m-%d %H:%M:%S UTC")


def _written(seconds: float, pattern: str) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime(pattern)


_MOST_NAMED = 3


def listed(names: Sequence[str]) -> str:
    """ "a, b and c"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def abridged(names: Sequence[str]) -> str:
    """ "a, b, c and 2 more": of many, the first and how many there are beside them."""
    more = len(names) - _MOST_NAMED
    return listed([*names[:_MOST_NAMED], f"{more} more"] if more > 0 else names)


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]
