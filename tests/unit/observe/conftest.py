# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts made of a few files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil
import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.files import HostFiles

RECORDED = Path(__file__).parents[2] / "data" / "proc"

MakeHost = Callable[..., HostFiles]


@pytest.fixture
def make_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeHost:
    """`make_host({"/proc/x": "text", "/sys/y": Path("../target")}, recorded="case")`: a Path makes a link."""
    monkeypatch.setattr(psutil, "PROCFS_PATH", "/proc")  # read_memory turns it to the tree

    def make(files: Mapping[str, str | Path] | None = None, recorded: str | None = None) -> HostFiles:
        root = tmp_path / "host"
        if recorded:
            shutil.copytree(RECORDED / recorded, root)
        for name, content in (files or {}).items():
            path = root / name.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Path):
                os.symlink(content, path)
            else:
                path.write_text(content)
        return HostFiles(str(root))

    return make
