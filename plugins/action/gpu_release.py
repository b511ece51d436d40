# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's half of gpu_release: it brings the libraries along where the host has none."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.blackwell.inference.plugins.plugin_utils.libraries import execute


class ActionModule(ActionBase):  # type: ignore[misc]
    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        return execute(self, "blackwell.inference.gpu_release", self._task.args, task_vars or {})
