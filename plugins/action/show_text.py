# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows lines of text as they are, whatever callback formats results."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.blackwell.inference.plugins.plugin_utils.columns import wrapped

ARGUMENTS = {"lines": {"type": "list", "elements": "str", "required": True}}
display = Display()


class ActionModule(ActionBase):  # type: ignore[misc]
    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec(ARGUMENTS)
        lines = [part for line in options["lines"] for part in wrapped(line)]
        display.display("\n".join(lines))  # one call, so that the lines of several hosts do not mix
        return {**result, "changed": False}
