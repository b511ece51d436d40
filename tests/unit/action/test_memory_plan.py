# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation beside the action plugin: sanity compares it with the module's options, this with what the action takes."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.blackwell.inference.plugins.action import memory_plan as action
from ansible_collections.blackwell.inference.plugins.modules import memory_plan as module
from ansible_collections.blackwell.inference.tests.unit.test_module_docs import options_of

OPTIONS: dict[str, dict[str, Any]] = options_of("memory_plan")


def test_the_action_takes_what_is_documented() -> None:
    assert action.ARGUMENTS is module.ARGUMENTS
    assert set(OPTIONS) == set(action.ARGUMENTS)


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_is_what_its_documentation_says(name: str) -> None:
    """Suboptions are documented, and checked by planning: Ansible would make 8 of the text '8', and tell other sentences."""
    documented = {key: value for key, value in OPTIONS[name].items() if key not in ("description", "suboptions")}
    assert documented == action.ARGUMENTS[name]


def test_no_connection_and_no_file_is_asked_for() -> None:
    assert action.ActionModule._requires_connection is False
    assert action.ActionModule.TRANSFERS_FILES is False
