# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lookup in front of the bundle: a text for each name, and a sentence for the play."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleLookupError

from ansible_collections.blackwell.inference.plugins.lookup import bundled_program
from ansible_collections.blackwell.inference.plugins.lookup.bundled_program import LookupModule
from ansible_collections.blackwell.inference.plugins.plugin_utils.bundle import program

NAME = "observe.nvml.child"


def test_a_program_for_each_name():
    assert LookupModule().run([NAME, NAME]) == [program(NAME)] * 2


def test_what_is_refused_is_told_as_it_stands():
    with pytest.raises(AnsibleLookupError) as refused:
        LookupModule().run([NAME, "observe.gone"])
    assert refused.value.message == (
        "A program was to be made of 'observe.gone', and the collection has no such module below plugins/module_utils. "
        "Give its name from there on, with dots for slashes and without .py."
    )


def test_a_program_is_made_once_in_a_run(tmp_path, monkeypatch):
    first = bundled_program.bundled("observe.nvml.child", tmp_path)
    monkeypatch.setattr(bundled_program, "program", lambda term: pytest.fail(f"{term} was made again."))
    assert bundled_program.bundled("observe.nvml.child", tmp_path) == first
    assert [path.name for path in tmp_path.iterdir()] == ["bundled-program-observe.nvml.child"]


def test_without_a_folder_of_the_run_it_is_made_each_time(tmp_path):
    text = bundled_program.bundled("observe.nvml.child", tmp_path / "none")
    assert text == bundled_program.program("observe.nvml.child")
