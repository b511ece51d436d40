# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows a plan as text whatever callback formats results, keeps its page on the controller, and fails if the plan was refused."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.blackwell.inference.plugins.plugin_utils.last_start import estimate_seconds
from ansible_collections.blackwell.inference.plugins.plugin_utils.page.page import page
from ansible_collections.blackwell.inference.plugins.plugin_utils.page_file import PageError, write_page
from ansible_collections.blackwell.inference.plugins.plugin_utils.plan_text import plan_lines

ARGUMENTS = {
    "plan": {"type": "dict", "default": {}},
    "recorded_plan": {"type": "dict", "default": {}},
    "calibration": {"type": "dict"},
    "page": {"type": "path"},
    "refusal": {"type": "str", "default": ""},
}
display = Display()


class ActionModule(ActionBase):  # type: ignore[misc]
    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec(ARGUMENTS)
        plan, refusal, calibration = options["plan"], options["refusal"], options["calibration"] or {}
        result["changed"] = False
        if plan:
            # One call, so that the lines of several hosts do not mix.
            display.display("\n".join(plan_lines(plan, calibration, unchanged=plan == options["recorded_plan"])))
            result["estimate_seconds"] = estimate_seconds(plan, calibration)
        try:
            if options["page"] and plan and not self._task.check_mode:
                display.display(f"Page: {write_page(options['page'], page(plan))}")
        except PageError as error:
            refusal = f"{refusal} {error}".lstrip()
        return {**result, "failed": True, "msg": refusal} if refusal else result
