# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says at the end of a play what it did and where things are, and fetches the page if it was asked for."""

from __future__ import annotations

import base64
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.blackwell.inference.plugins.plugin_utils.page_file import PageError, write_page
from ansible_collections.blackwell.inference.plugins.plugin_utils.summary import Run, summary_lines

ARGUMENTS = {
    "unit": {"type": "str", "required": True},
    "url": {"type": "str", "required": True},
    "served_model_name": {"type": "str", "required": True},
    "plan": {"type": "dict", "required": True},
    "deployment": {"type": "dict", "required": True},
    "readiness": {"type": "dict"},
    "verdict": {"type": "dict"},
    "calibration": {"type": "dict"},
    "estimate_seconds": {"type": "float", "default": 0},
    "installed": {"type": "list", "elements": "str", "default": []},
    "key": {"type": "bool", "default": False, "no_log": False},
    "page_on_host": {"type": "path", "required": True},
    "page": {"type": "path"},
}
display = Display()


class ActionModule(ActionBase):  # type: ignore[misc]
    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec(ARGUMENTS)
        facts = task_vars or {}
        page, fault = options["page_on_host"], ""
        if options["page"] and options["verdict"] and not self._task.check_mode:
            try:
                page = str(write_page(options["page"], self._fetched(page, facts)))
            except PageError as error:
                fault = str(error)  # told below the lines: what was done stands, whatever became of the page
        run = Run(
            host=str(facts.get("inventory_hostname", "this host")),
            unit=options["unit"],
            url=options["url"],
            served_model_name=options["served_model_name"],
            plan=options["plan"],
            seen=options["deployment"],
            readiness=options["readiness"],
            verdict=options["verdict"],
            calibration=options["calibration"] or {},
            estimate_seconds=options["estimate_seconds"],
            installed=tuple(options["installed"]),
            key=options["key"],
            page=page,
            checked=bool(self._task.check_mode),
        )
        lines = summary_lines(run)
        display.display("\n".join(lines))  # one call, so that the lines of several hosts do not mix
        result = {**result, "changed": False, "summary": lines}
        return {**result, "failed": True, "msg": fault} if fault else result

    def _fetched(self, path: str, task_vars: dict[str, Any]) -> str:
        read = self._execute_module(module_name="ansible.builtin.slurp", module_args={"src": path}, task_vars=task_vars)
        if read.get("failed"):
            raise PageError(f"The page {path} could not be read on the host: {read.get('msg')}.")
        return base64.b64decode(read["content"]).decode("utf-8")
