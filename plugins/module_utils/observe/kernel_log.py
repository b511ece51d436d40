# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel of this boot said of GPUs. Private to the collection, may change any time.

journald reads it from /dev/kmsg. A container has none, and its journal no kernel message: that is no clean log, it is an unknown one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..core.errors import ObservationError
from ..core.text import utc
from .journald import Entry, JournalRefused, read_journal

PATTERN = (
    r"NVRM: Xid \(|fallen off the bus|WPR2 already up|HeartbeatTimedOut|encountered global fatal error"
    r"|not ready \d+ms after|device inaccessible|BUG: |Oops|general protection fault|\[nvidia|end trace"
)
"""Lines that release/evidence.py reads, in what Perl's and Python's expressions share. A driver in trouble writes thousands of others."""

MOST = 20000
MOST_UNFILTERED = 100000
LATE_SECONDS = 600.0
"""journald takes up the kernel's messages within a minute of the boot. Where its first one is later than this, older ones were thrown away."""

EXPECTED = "The kernel log was expected; run this as root or as a member of the group systemd-journal."
ABSENT = (
    "The journal has no kernel message of this boot, as in a container, whose kernel is its host's. "
    "Only the host's kernel log tells whether a GPU failed: look there with journalctl -k."
)


@dataclass(frozen=True)
class KernelEntry:
    """One message; `time_seconds` is when journald received it, in seconds since 1970."""

    time_seconds: float
    message: str


@dataclass(frozen=True)
class KernelLog:
    """Messages of this boot that may tell of a GPU, oldest first.

    `since`: as asked. `readable` false: nothing is known. `why_not`: a sentence on what is not known; a readable log may have one too.
    """

    readable: bool
    since: str | None
    entries: tuple[KernelEntry, ...] = ()
    why_not: str | None = None


def read_kernel_log(since: str | None = None, most: int = MOST) -> KernelLog:
    """Kernel messages since a time, in words that `journalctl --since` takes ("@1796010000" is seconds since 1970); None: since the boot.

    Raises ObservationError for a time that is none: to take it for the boot, or for an unknown log, would let a typing error hide a fault.
    """
    try:
        oldest = read_journal(["--dmesg"], 1, EXPECTED)
        if not oldest:
            return KernelLog(False, since, why_not=ABSENT)
        entries = _matching(since, most)
    except ObservationError as error:
        if isinstance(error, JournalRefused) and "parse timestamp" in error.text:
            raise ObservationError(
                f"'{since}' is no time that journalctl understands. Name one as its --since takes it, such as "
                "'2026-11-30 10:00:00', '-2h' or '@1796010000' (seconds since 1970)."
            ) from error
        return KernelLog(False, since, why_not=str(error))
    kept = tuple(KernelEntry(entry.realtime / 1e6, entry.message) for entry in reversed(entries))
    return KernelLog(True, since, kept, _missing(oldest[0], since, kept, most))


def _matching(since: str | None, most: int) -> Sequence[Entry]:
    """Newest first, so that of too many the newest are kept."""
    options = ["--dmesg", "--reverse", *([f"--since={since}"] if since is not None else [])]
    try:
        return read_journal([*options, f"--grep={PATTERN}"], most, EXPECTED)
    except JournalRefused as error:
        if error.status == 1 and not error.text:
            return ()  # systemd ends so when nothing matches
        if "pattern" not in error.text:
            raise
    # This journalctl was built without PCRE2.
    entries = read_journal(options, MOST_UNFILTERED, EXPECTED)
    return [entry for entry in entries if re.search(PATTERN, entry.message)][:most]


def _missing(oldest: Entry, since: str | None, kept: Sequence[KernelEntry], most: int) -> str | None:
    if len(kept) == most:
        return (
            f"The kernel log has more than {most} lines on GPUs since {since or 'the boot'}; those before {utc(kept[0].time_seconds)} "
            "were not read. Name a later time in evidence_since, or read them with journalctl -k."
        )
    start = _start_seconds(oldest, since)
    first = oldest.realtime / 1e6
    if start is None or first - start < LATE_SECONDS:
        return None
    return (
        f"The journal has thrown away the kernel messages before {utc(first)}, so what happened to a GPU from {utc(start)} until then "
        "is not known. Give the journal more room (SystemMaxUse of journald.conf), or name a later time in evidence_since."
    )


def _start_seconds(oldest: Entry, since: str | None) -> float | None:
    """When the asked messages begin, where that can be told without journalctl's understanding of times."""
    since_boot = re.search(r"(?:^|;)m=([0-9a-f]+)", oldest.cursor)  # microseconds
    boot = oldest.realtime / 1e6 - int(since_boot.group(1), 16) / 1e6 if since_boot else None
    if since is None:
        return boot
    epoch = re.fullmatch(r"@(\d+(?:\.\d+)?)", since)
    if epoch is None:
        return None
    return float(epoch.group(1)) if boot is None else max(boot, float(epoch.group(1)))
