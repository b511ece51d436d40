# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page on the controller: whole or not there, and readable."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.plugin_utils.page_file import PageError, write_page


def test_a_page_replaces_the_last_one_and_everybody_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "kimi.html"
    path.write_text("old")
    assert write_page(str(path), "<p>ü</p>") == path
    assert path.read_text(encoding="utf-8") == "<p>ü</p>"
    assert path.stat().st_mode & 0o777 == 0o644
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PageError) as refused:
        write_page(str(tmp_path / "none" / "kimi.html"), "x")
    assert str(refused.value) == (
        f"The page could not be written to {tmp_path}/none/kimi.html: No such file or directory. A file in a folder of the "
        "controller that exists and is writable was expected in inference_report."
    )


def test_nothing_is_left_where_a_folder_stands_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "kimi.html").mkdir()
    with pytest.raises(PageError):
        write_page(str(tmp_path / "kimi.html"), "x")
    assert [path.name for path in tmp_path.iterdir()] == ["kimi.html"]
