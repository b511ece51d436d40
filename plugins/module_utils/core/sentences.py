# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What sentences are put together with. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Sequence

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
