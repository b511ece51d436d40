#!/usr/bin/python
# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: deployment_info
short_description: Read the true state of an inference server instance in one call
version_added: 0.1.0
author:
  - blackwell.inference contributors (@blackwell-inference)
description:
  - Reads what is true of one instance on this host. That is its files by content, owner and mode, its Python environments by the pinned versions in
    them, its unit and process, and who listens on its port.
  - Decides whether the engine must be started or restarted, by comparing what it should read at start with what the running process was started with.
    No remembered stamp takes part in that.
extends_documentation_fragment:
  - blackwell.inference.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
options:
  instance:
    description: Name of the instance; its unit is C(sglang-<instance>.service).
    type: str
    required: true
  port:
    description: TCP port that the instance serves, to tell who listens on it.
    type: int
  state_directory:
    description: Directory of the records of all instances.
    type: path
    default: /var/lib/blackwell-inference
  files:
    description: Files as they should be.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: What the file is called in the result.
        type: str
        required: true
      path:
        description: Absolute path.
        type: path
        required: true
      content:
        description: Whole text; never returned.
        type: str
        required: true
      kind:
        description: What the engine reads at start (V(config), V(environment), V(unit)), or V(record) for what only people and tools read.
        type: str
        choices: [config, environment, unit, record]
        default: record
      owner:
        description: Name of the owner.
        type: str
        default: root
      group:
        description: Name of the group.
        type: str
        default: root
      mode:
        description: Octal mode.
        type: str
        default: "0644"
  directories:
    description: Directories as they should be. Only those of this list are looked at, not what lies in them.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: Absolute path.
        type: path
        required: true
      owner:
        description: Name of the owner.
        type: str
        default: root
      group:
        description: Name of the group.
        type: str
        default: root
      mode:
        description: Octal mode.
        type: str
        default: "0755"
  environments:
    description: Python environments and the versions that must be in them.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: Directory of the environment.
        type: path
        required: true
      requirements:
        description: Version of each distribution by its name.
        type: dict
        required: true
      engine:
        description: Whether it is the one that the engine runs in, so that a process started with other versions is told.
        type: bool
        default: false
  users:
    description: Users that must exist.
    type: list
    elements: str
    default: []
  packages:
    description: Debian packages that must be installed.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: See how an instance is doing
  blackwell.inference.deployment_info:
    instance: kimi
    port: 30000
  register: kimi

- name: Say who holds its port
  ansible.builtin.debug:
    msg: "{{ kimi.deployment.port }}"
"""

RETURN = r"""
deployment:
  description:
    - The state of the instance, with the keys C(unit), C(process), C(files), C(differing_files), C(foreign_files), C(secret_files),
      C(directories), C(differing_directories), C(restart), C(environments), C(missing_users), C(missing_packages), C(port), C(other_engines)
      and C(records).
  returned: success
  type: dict
  sample:
    unit: {name: sglang-kimi.service, active_state: active, main_pid: 4711}
    differing_files: []
    restart: {required: true, reasons: [{input: config, what: "mem-fraction-static: 0.85 becomes 0.88"}]}
    port: {number: 30000, listening: true, listener_pid: 4711, listener_unit: sglang-kimi.service, ours: true}
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import InferenceError
from ansible_collections.blackwell.inference.plugins.module_utils.deploy.state import (
    Wanted,
    read_deployment,
    wanted_directories,
    wanted_files,
)

FILE = {
    "name": {"type": "str", "required": True},
    "path": {"type": "path", "required": True},
    "content": {"type": "str", "required": True, "no_log": True},
    "kind": {"type": "str", "choices": ["config", "environment", "unit", "record"], "default": "record"},
    "owner": {"type": "str", "default": "root"},
    "group": {"type": "str", "default": "root"},
    "mode": {"type": "str", "default": "0644"},
}
DIRECTORY = {
    "path": {"type": "path", "required": True},
    "owner": {"type": "str", "default": "root"},
    "group": {"type": "str", "default": "root"},
    "mode": {"type": "str", "default": "0755"},
}
ENVIRONMENT = {
    "path": {"type": "path", "required": True},
    "requirements": {"type": "dict", "required": True},
    "engine": {"type": "bool", "default": False},
}
ARGUMENTS = {
    "instance": {"type": "str", "required": True},
    "port": {"type": "int"},
    "state_directory": {"type": "path", "default": "/var/lib/blackwell-inference"},
    "files": {"type": "list", "elements": "dict", "default": [], "options": FILE},
    "directories": {"type": "list", "elements": "dict", "default": [], "options": DIRECTORY},
    "environments": {"type": "list", "elements": "dict", "default": [], "options": ENVIRONMENT},
    "users": {"type": "list", "elements": "str", "default": []},
    "packages": {"type": "list", "elements": "str", "default": []},
}


def main() -> None:
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    instance = module.params["instance"]
    wanted = Wanted(
        unit=f"sglang-{instance}.service",
        port=module.params["port"],
        state_directory=Path(module.params["state_directory"]) / instance,
        started_directory=Path("/run") / f"sglang-{instance}" / "started",
        files=wanted_files(module.params["files"]),
        directories=wanted_directories(module.params["directories"]),
        environments=tuple(module.params["environments"]),
        users=tuple(module.params["users"]),
        packages=tuple(module.params["packages"]),
    )
    try:
        deployment = read_deployment(module.run_command, wanted)
    except InferenceError as error:
        module.fail_json(msg=str(error), **error.details)
    module.exit_json(changed=False, deployment=deployment)


if __name__ == "__main__":
    main()
