# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host memory that is taken but could be had. Private to the collection, may change any time."""

from __future__ import annotations

from ...core.units import GIB, gb_text
from .host_seen import HostSeen

# Less is no help against a host cache.
_WORTH_SAYING_BYTES = 1 * GIB


def spare_memory(host: HostSeen) -> str:
    """Sentences, each with a blank before it, or nothing: the ZFS cache above its minimum, and huge pages that were reserved.

    The ZFS cache counts as taken: it shrinks when memory runs short, but in steps, and a start that pins hundreds of GB at once outruns it.
    Reserved huge pages are no part of MemAvailable, and the engine takes none unless SGLANG_HUGEPAGE_SIZE says so (since 0.5.13).
    """
    sentences = ""
    arc = host.zfs_arc_bytes - host.zfs_arc_min_bytes
    if arc >= _WORTH_SAYING_BYTES:
        sentences += (
            f" The ZFS cache holds {gb_text(host.zfs_arc_bytes)} and can go down to {gb_text(host.zfs_arc_min_bytes)}, but not at once, so that it counts "
            "as taken: lower zfs_arc_max, wait until it has shrunk, and plan again."
        )
    if host.huge_pages_bytes >= _WORTH_SAYING_BYTES:
        sentences += f" {gb_text(host.huge_pages_bytes)} are reserved as huge pages, which the engine does not use: lower vm.nr_hugepages to have them back."
    return sentences
