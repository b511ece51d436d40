# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal as journalctl prints it. What a real journald makes of a progress bar was recorded on systemd 252."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import ObservationError
from ansible_collections.blackwell.inference.plugins.module_utils.observe.journald import (
    Entry,
    last_entries,
    read_entries,
)

BAR = list(b"\rshards: 1/2\rshards: 2/2")
LINES = [
    {"__CURSOR": "s=1", "__REALTIME_TIMESTAMP": "1795974741166756", "MESSAGE": "Load weight begin."},
    {"__CURSOR": "s=2", "__REALTIME_TIMESTAMP": "1795974741166787", "MESSAGE": BAR},
    {"__CURSOR": "s=3", "__REALTIME_TIMESTAMP": "1795974741240268", "MESSAGE": None},
    {"__CURSOR": "s=4", "__REALTIME_TIMESTAMP": "1795974741244205", "MESSAGE": ["twice", BAR]},
]
ENTRIES = (
    Entry("Load weight begin.", 1795974741166756, "s=1"),
    Entry("\rshards: 1/2\rshards: 2/2", 1795974741166787, "s=2"),
    Entry("", 1795974741240268, "s=3"),
    Entry("twice\n\rshards: 1/2\rshards: 2/2", 1795974741244205, "s=4"),
)


@pytest.fixture
def journalctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A command of that name that notes its arguments and prints the lines; a test may change it."""
    (tmp_path / "lines").write_text("".join(json.dumps(line) + "\n" for line in LINES))
    script = tmp_path / "journalctl"
    script.write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/arguments\nexec /bin/cat {tmp_path}/lines\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return script


def test_messages_come_as_text_bytes_nothing_or_several(journalctl: Path) -> None:
    assert read_entries("abc") == ENTRIES


def test_what_is_asked(journalctl: Path) -> None:
    read_entries("abc", after="s=1")
    asked = (journalctl.parent / "arguments").read_text()
    assert asked == (
        "--no-pager --quiet --all --output json --output-fields MESSAGE --after-cursor s=1 _SYSTEMD_INVOCATION_ID=abc + INVOCATION_ID=abc\n"
    )
    last_entries("abc", 25)
    assert "--lines 25 " in (journalctl.parent / "arguments").read_text()


def test_reading_ends_when_there_is_enough(journalctl: Path) -> None:
    assert read_entries("abc", enough=lambda entry: "shards" in entry.message) == ENTRIES[:2]
    assert read_entries("abc", most=1) == ENTRIES[:1]


def test_a_journal_that_may_not_be_read(journalctl: Path) -> None:
    journalctl.write_text(
        "#!/bin/sh\necho 'No journal files were opened due to insufficient permissions.' >&2\nexit 1\n"
    )
    with pytest.raises(ObservationError) as caught:
        read_entries("abc")
    assert str(caught.value) == (
        "journalctl ended with status 1: No journal files were opened due to insufficient permissions. "
        "The unit's journal was expected; run this as root or as a member of the group systemd-journal."
    )


def test_a_host_without_a_journal(journalctl: Path) -> None:
    journalctl.unlink()
    with pytest.raises(ObservationError) as caught:
        read_entries("abc")
    assert (
        str(caught.value)
        == "journalctl could not be run: No such file or directory. A host with systemd's journal was expected."
    )
