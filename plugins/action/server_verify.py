# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verifies on the host, and makes the page of what was found on the controller, so that no host carries what a page is made of."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.common.validation import check_type_dict
from ansible.plugins.action import ActionBase

from ansible_collections.blackwell.inference.plugins.module_utils.verify.records import PATHS
from ansible_collections.blackwell.inference.plugins.plugin_utils.arguments import plain
from ansible_collections.blackwell.inference.plugins.plugin_utils.page.page import page

MODULE = "blackwell.inference.server_verify"


class ActionModule(ActionBase):  # type: ignore[misc]
    """One call verifies. A second one writes the records, once the verdict and so the page are known."""

    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        arguments = {**self._task.args, "write": None}
        result = self._call(arguments, task_vars)
        kept = any(arguments.get(name) for name in PATHS)
        if self._task.check_mode or not result.get("verdict") or not kept:
            return result
        # A failed verification has a page and a verdict too.
        calibration, verdict = plain([result.get("calibration"), result["verdict"]])
        found = {"calibration": calibration, "page": self._page(calibration, verdict), "verdict": verdict}
        written = self._call({**arguments, "plan": {}, "api_key": None, "write": found}, task_vars)
        return written if written.get("failed") else result

    def _page(self, calibration: dict[str, Any] | None, verdict: dict[str, Any]) -> str | None:
        if not self._task.args.get("report_path"):
            return None
        return page(check_type_dict(plain(self._task.args["plan"])), calibration, verdict)

    def _call(self, arguments: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        return dict(self._execute_module(module_name=MODULE, module_args=arguments, task_vars=task_vars))
