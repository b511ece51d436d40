# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running a module whose libraries the host may lack. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.blackwell.inference.plugins.plugin_utils.wheels import WheelsError, target_of, wheels


def execute(
    action: ActionBase, module_name: str, module_args: Mapping[str, Any], task_vars: dict[str, Any]
) -> dict[str, Any]:
    """Runs the module, one round trip when the host has its libraries.

    Otherwise they travel as wheels into the connection's temporary folder, which Ansible removes after the task, and the module runs again.
    """
    result: dict[str, Any] = action._execute_module(
        module_name=module_name, module_args=dict(module_args), task_vars=task_vars
    )
    missing = result.get("missing_libraries")
    if not missing:
        return result
    source = action._templar.template(task_vars.get("toolbox_wheels", ""))
    try:
        local = wheels(target_of(missing), source)
    except WheelsError as error:
        return {**result, "msg": f"{result['msg']} {error}"}
    shell = action._connection._shell
    if shell.tmpdir is None:
        action._make_tmp_path()
    remote = [action._transfer_file(str(wheel), shell.join_path(shell.tmpdir, wheel.name)) for wheel in local]
    action._fixup_perms2([shell.tmpdir, *remote])
    brought = {**module_args, "wheels": remote}
    again: dict[str, Any] = action._execute_module(module_name=module_name, module_args=brought, task_vars=task_vars)
    return again
