# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytes inside, units at the edge. Private to the collection, may change any time.

SGLang prints GPU sizes as "GB" and means GiB (2^30); it prints host-cache sizes as "GB" and means 10^9 (since 0.4.9).
"""

from __future__ import annotations

from decimal import Decimal
from typing import Union

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30
GB = 10**9

Number = Union[int, float, str, Decimal]


def gib_to_bytes(gib: Number) -> int:
    """Bytes of a size in GiB, rounded down to a whole byte."""
    return int(Decimal(str(gib)) * GIB)


def gb_to_bytes(gb: Number) -> int:
    """Bytes of a size in decimal GB, rounded down to a whole byte."""
    return int(Decimal(str(gb)) * GB)


def gib_text(size_bytes: int) -> str:
    """A size for people, for example `94.04 GiB`."""
    return f"{size_bytes / GIB:,.2f} GiB"


def ranks_text(ranks: int) -> str:
    """A number of ranks for people: `1 rank`, `8 ranks`."""
    return f"{ranks} rank{'s' if ranks != 1 else ''}"


def gb_text(size_bytes: int) -> str:
    """A size for people in SGLang's host-cache unit, for example `44.77 GB`."""
    return f"{size_bytes / GB:,.2f} GB"
