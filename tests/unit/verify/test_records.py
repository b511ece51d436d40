# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a verification leaves on the host, and in which order."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.verify.records import (
    RecordPaths,
    write_json,
    write_text,
)

VERDICT = {"passed": True}


def paths(folder: Path) -> RecordPaths:
    names = {"calibration_path": "calibration.json", "report_path": "plan.html", "verdict_path": "verdict.json"}
    return RecordPaths.of({option: str(folder / name) for option, name in names.items()})


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_all_that_has_a_path_is_written(tmp_path: Path) -> None:
    paths(tmp_path).write({"tokens": 7}, "<!DOCTYPE html>", VERDICT)
    assert json.loads((tmp_path / "verdict.json").read_text()) == VERDICT
    assert json.loads((tmp_path / "calibration.json").read_text()) == {"tokens": 7}
    assert (tmp_path / "plan.html").read_text() == "<!DOCTYPE html>"
    RecordPaths.of({"calibration_path": None, "report_path": None, "verdict_path": None}).write({}, "page", VERDICT)
    assert len(names(tmp_path)) == 3


def test_a_start_that_taught_nothing_leaves_the_calibration_of_an_earlier_one(tmp_path: Path) -> None:
    (tmp_path / "calibration.json").write_text("old")
    paths(tmp_path).write(None, None, VERDICT)
    assert (tmp_path / "calibration.json").read_text() == "old"
    assert names(tmp_path) == ["calibration.json", "verdict.json"]


def test_the_verdict_is_written_last(tmp_path: Path) -> None:
    """One that exists belongs to a verification that ended with all its records."""
    (tmp_path / "plan.html").mkdir()
    with pytest.raises(OSError, match=r"plan\.html"):
        paths(tmp_path).write({"tokens": 7}, "page", VERDICT)
    assert names(tmp_path) == ["calibration.json", "plan.html"]


def test_old_verdict_and_page_are_gone_and_missing_ones_are_no_error(tmp_path: Path) -> None:
    for name in ("calibration.json", "plan.html", "verdict.json"):
        (tmp_path / name).write_text("old")
    paths(tmp_path).remove_old()
    paths(tmp_path).remove_old()
    RecordPaths().remove_old()
    assert names(tmp_path) == ["calibration.json"]


def test_a_record_is_written_whole_and_may_be_read_by_everybody(tmp_path: Path) -> None:
    record = tmp_path / "verdict.json"
    record.write_text("old")
    write_json(record, VERDICT)
    assert json.loads(record.read_text()) == VERDICT
    assert stat.S_IMODE(record.stat().st_mode) == 0o644
    write_text(record, "page")
    assert record.read_text() == "page"
    assert names(tmp_path) == ["verdict.json"]


def test_a_record_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        write_json(tmp_path / "verdict.json", {"passed": object()})
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        write_text(tmp_path / "folder", "page")
    assert names(tmp_path) == ["folder"]
