# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuses, on the controller, what no unit can be made of."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.blackwell.inference.plugins.plugin_utils.inputs import service_refusal

ARGUMENTS = {
    "instance": {"type": "str", "required": True},
    "description": {"type": "str", "default": ""},
    "model_path": {"type": "str", "default": ""},
    "environment": {"type": "dict", "default": {}, "no_log": True},
}


class ActionModule(ActionBase):  # type: ignore[misc]
    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _checked, values = self.validate_argument_spec(ARGUMENTS)
        refusal = service_refusal(values)
        return {**result, "changed": False, **({"failed": True, "msg": refusal} if refusal else {})}
