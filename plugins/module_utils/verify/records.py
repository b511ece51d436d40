# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a verification leaves on the host: calibration, page and verdict. Private to the collection, may change any time.

Page and verdict of another time are deleted before the host is looked at, and the verdict is written last: one that exists belongs to a verification
that ended.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATHS = ("calibration_path", "report_path", "verdict_path")
"""The options that name them, in the order in which they are written."""


@dataclass(frozen=True)
class RecordPaths:
    """Where each goes; what has no path is not written."""

    calibration: Path | None = None
    page: Path | None = None
    verdict: Path | None = None

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> RecordPaths:
        return cls(*(Path(params[name]) if params[name] else None for name in PATHS))

    def remove_old(self) -> None:
        """An old verdict must not be taken for the one that is being made."""
        for path in (self.verdict, self.page):
            if path is not None:
                path.unlink(missing_ok=True)

    def write(self, calibration: Mapping[str, Any] | None, page: str | None, verdict: Mapping[str, Any]) -> None:
        """`calibration` is None when the start taught nothing; then that of an earlier start stays."""
        if self.calibration is not None and calibration:
            write_json(self.calibration, calibration)
        if self.page is not None and page is not None:
            write_text(self.page, page)
        if self.verdict is not None:
            write_json(self.verdict, verdict)


def write_json(path: Path, record: Mapping[str, Any]) -> None:
    """See `write_text`."""
    write_text(path, json.dumps(record, indent=1, sort_keys=True) + "\n")


def write_text(path: Path, text: str) -> None:
    """Whole or not at all, readable by everybody: a record holds no secrets."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
