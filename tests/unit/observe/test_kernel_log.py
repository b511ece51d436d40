# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel log through journalctl: what is asked, what is known, and what is not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import ObservationError
from ansible_collections.blackwell.inference.plugins.module_utils.observe.kernel_log import (
    ABSENT,
    PATTERN,
    KernelEntry,
    KernelLog,
    read_kernel_log,
)

BOOT = 1796000000  # 2026-11-30 00:53:20 UTC
XID = "NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus."

Answer = tuple[str, str, int]
Journalctl = Callable[..., Path]


def entry(message: str, after_boot: float) -> str:
    monotonic = f"{int(after_boot * 1e6):x}"
    realtime = str(int((BOOT + after_boot) * 1e6))
    return json.dumps(
        {"__CURSOR": f"s=1;i=1;b=2;m={monotonic};t=3;x=4", "__REALTIME_TIMESTAMP": realtime, "MESSAGE": message}
    )


FIRST = (entry("Linux version 6.12", 5), "", 0)


@pytest.fixture
def journalctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Journalctl:
    """A command of that name with an answer (stdout, stderr, status) for each of its calls, whose arguments it notes."""

    def answer(*answers: Answer) -> Path:
        for number, (out, err, status) in enumerate(answers, 1):
            (tmp_path / f"out{number}").write_text(out and out + "\n")
            (tmp_path / f"err{number}").write_text(err and err + "\n")
            (tmp_path / f"status{number}").write_text(str(status))
        script = tmp_path / "journalctl"
        script.write_text(
            f"#!/bin/bash\ncd {tmp_path}\n"
            'for word; do echo "$word" >>arguments; done; echo >>arguments\n'
            "n=$(/bin/grep -c '^$' arguments)\n/bin/cat err$n >&2\n/bin/cat out$n\nexit $(/bin/cat status$n)\n"
        )
        script.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        return tmp_path / "arguments"

    return answer


def calls(arguments: Path) -> list[list[str]]:
    return [call.split("\n") for call in arguments.read_text().strip("\n").split("\n\n")]


def test_what_is_asked(journalctl: Journalctl) -> None:
    arguments = journalctl(FIRST, (entry(XID, 70), "", 0))
    read_kernel_log("-2h")
    common = ["--no-pager", "--quiet", "--all", "--output", "json", "--output-fields", "MESSAGE", "--dmesg"]
    assert calls(arguments) == [common, [*common, "--reverse", "--since=-2h", f"--grep={PATTERN}"]]


def test_entries_come_oldest_first(journalctl: Journalctl) -> None:
    journalctl(FIRST, ("\n".join([entry("later", 71.5), entry(XID, 70)]), "", 0))
    assert read_kernel_log() == KernelLog(True, None, (KernelEntry(BOOT + 70, XID), KernelEntry(BOOT + 71.5, "later")))


def test_nothing_that_matches_is_a_clean_log(journalctl: Journalctl) -> None:
    """systemd 252 to 257 end with 1 then, and say nothing."""
    journalctl(FIRST, ("", "", 1))
    assert read_kernel_log() == KernelLog(True, None)


def test_no_kernel_message_at_all_is_no_clean_log(journalctl: Journalctl) -> None:
    journalctl(("", "", 0))
    log = read_kernel_log("@1796000001")
    assert (log.readable, log.entries, log.why_not) == (False, (), ABSENT)
    assert log.why_not == (
        "The journal has no kernel message of this boot, as in a container, whose kernel is its host's. "
        "Only the host's kernel log tells whether a GPU failed: look there with journalctl -k."
    )


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        (
            [("", "No journal files were opened due to insufficient permissions.", 1)],
            "journalctl ended with status 1: No journal files were opened due to insufficient permissions. "
            "The kernel log was expected; run this as root or as a member of the group systemd-journal.",
        ),
        (
            [FIRST, ("", "Failed to iterate through journal: Bad message", 1)],
            "journalctl ended with status 1: Failed to iterate through journal: Bad message. "
            "The kernel log was expected; run this as root or as a member of the group systemd-journal.",
        ),
    ],
)
def test_a_log_that_cannot_be_read(journalctl: Journalctl, answers: list[Answer], sentence: str) -> None:
    journalctl(*answers)
    assert read_kernel_log() == KernelLog(False, None, why_not=sentence)


def test_a_host_without_journalctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_kernel_log() == KernelLog(
        False,
        None,
        why_not="journalctl could not be run: No such file or directory. A host with systemd's journal was expected.",
    )


def test_a_time_that_is_none(journalctl: Journalctl) -> None:
    journalctl(FIRST, ("", "Failed to parse timestamp: yesteryear", 1))
    with pytest.raises(ObservationError) as caught:
        read_kernel_log("yesteryear")
    assert str(caught.value) == (
        "'yesteryear' is no time that journalctl understands. Name one as its --since takes it, such as "
        "'2026-11-30 10:00:00', '-2h' or '@1796010000' (seconds since 1970)."
    )


def test_a_journalctl_without_patterns(journalctl: Journalctl) -> None:
    lines = "\n".join([entry("usb 1-1: new device", 72), entry(XID, 70)])
    arguments = journalctl(FIRST, ("", "Compiled without pattern matching support", 1), (lines, "", 0))
    assert read_kernel_log("-2h").entries == (KernelEntry(BOOT + 70, XID),)
    assert calls(arguments)[2][-3:] == ["--dmesg", "--reverse", "--since=-2h"]


def test_more_than_is_read(journalctl: Journalctl) -> None:
    journalctl(FIRST, ("\n".join([entry(XID, 72), entry(XID, 71), entry(XID, 70)]), "", 0))
    log = read_kernel_log(most=2)
    assert [one.time_seconds - BOOT for one in log.entries] == [71, 72]
    assert log.why_not == (
        "The kernel log has more than 2 lines on GPUs since the boot; those before 2026-11-30 00:54:31 UTC were not read. "
        "Name a later time in evidence_since, or read them with journalctl -k."
    )


@pytest.mark.parametrize(
    ("since", "oldest", "known_from"),
    [
        (None, 5, None),
        (None, 86400, "2026-11-30 00:53:20 UTC"),
        (f"@{BOOT + 3600}", 86400, "2026-11-30 01:53:20 UTC"),
        (f"@{BOOT - 3600}", 86400, "2026-11-30 00:53:20 UTC"),  # before the boot was another kernel
        (f"@{BOOT + 90000}", 86400, None),
        ("-2h", 86400, None),  # only journalctl understands it
    ],
)
def test_messages_that_were_thrown_away(
    journalctl: Journalctl, since: str | None, oldest: float, known_from: str | None
) -> None:
    journalctl((entry("eth0: link up", oldest), "", 0), ("", "", 1))
    log = read_kernel_log(since)
    assert log.readable
    expected = known_from and (
        f"The journal has thrown away the kernel messages before 2026-12-01 00:53:20 UTC, so what happened to a GPU from {known_from} "
        "until then is not known. Give the journal more room (SystemMaxUse of journald.conf), or name a later time in evidence_since."
    )
    assert log.why_not == expected


def test_the_pattern_means_the_same_to_journalctl() -> None:
    """Perl's expressions know all that is in it, and --grep heeds case only while a capital is in it."""
    assert re.search("[A-Z]", PATTERN)
    assert set(re.findall(r"\\(.)", PATTERN)) == {"(", "d", "["}
