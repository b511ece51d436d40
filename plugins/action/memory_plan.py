# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans on the controller: a plan is arithmetic on what other tasks read, so nothing travels to the host."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.blackwell.inference.plugins.modules.memory_plan import ARGUMENTS, RULES
from ansible_collections.blackwell.inference.plugins.plugin_utils.arguments import ArgumentsError, validated
from ansible_collections.blackwell.inference.plugins.plugin_utils.planned import planned


class ActionModule(ActionBase):  # type: ignore[misc]
    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        try:
            params = validated("blackwell.inference.memory_plan", self._task.args, ARGUMENTS, **RULES)
        except ArgumentsError as error:
            return {**result, "failed": True, "msg": str(error)}
        return {**result, **planned(params, self._display.warning)}
