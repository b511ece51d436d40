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
  description: The state of the instance.
  type: dict
  returned: success
  contains:
    unit:
      description: The unit, as C(systemctl show) prints it.
      type: dict
      returned: always
      contains:
        name: {type: str, returned: always, description: Name of the unit.}
        load_state: {type: str, returned: always, description: "V(loaded), or V(not-found) if it is not installed."}
        active_state: {type: str, returned: always, description: "V(active), V(activating), V(inactive) or V(failed) for example."}
        sub_state: {type: str, returned: always, description: "For example V(running), V(start-post) or V(dead)."}
        unit_file_state: {type: str, returned: always, description: V(enabled) or V(disabled) for example.}
        fragment_path: {type: str, returned: always, description: "The unit's file. Null if there is none."}
        drop_ins:
          description: Files that change this unit alone. Those that other units share are not listed.
          type: list
          elements: str
          returned: always
        need_daemon_reload: {type: bool, returned: always, description: Whether systemd has an older unit loaded than the files say.}
        main_pid: {type: int, returned: always, description: Main process. 0 if none runs.}
        invocation_id: {type: str, returned: always, description: Identifier of the current or last run. Null before the first one.}
        result: {type: str, returned: always, description: "How the last run ended, for example V(success) or V(exit-code)."}
        n_restarts: {type: int, returned: always, description: How often systemd started the unit again by itself.}
        control_group: {type: str, returned: always, description: Its control group. Null if it has none.}
        cgroup_memory_bytes: {type: int, returned: always, description: Memory of its control group. Null if it is not accounted.}
    files:
      description: O(files) against what lies on the host.
      type: list
      elements: dict
      returned: always
      contains:
        name: {type: str, returned: always, description: Name as given.}
        path: {type: str, returned: always, description: Path as given.}
        differs:
          description: What differs, V(absent) or V(type) alone, else any of V(content), V(owner), V(group) and V(mode).
          type: list
          elements: str
          returned: always
    secret_files:
      description: Names of the files that hold a secret, now or as wanted. No difference of theirs may be shown.
      type: list
      elements: str
      returned: always
    foreign_files:
      description: Names of the files whose content somebody else wrote. They are to be kept as a backup.
      type: list
      elements: str
      returned: always
    differing_files: {type: list, elements: str, returned: always, description: Names of the files that differ.}
    directories:
      description: O(directories) against what lies on the host.
      type: list
      elements: dict
      returned: always
      contains:
        path: {type: str, returned: always, description: Path as given.}
        differs:
          description: What differs, V(absent) or V(type) alone, else any of V(owner), V(group) and V(mode).
          type: list
          elements: str
          returned: always
    differing_directories: {type: list, elements: str, returned: always, description: Paths of the directories that differ.}
    process:
      description: The unit's main process.
      type: dict
      returned: always
      contains:
        pid: {type: int, returned: always, description: Its pid. 0 if none runs.}
        running: {type: bool, returned: always, description: "Whether it runs, also while it is starting or stopping."}
    restart:
      description: >-
        Whether the engine must be started, or stopped and started. Decided only if O(files) has a config, an environment and a unit.
      type: dict
      returned: always
      contains:
        required: {type: bool, returned: always, description: Whether it must.}
        reasons:
          description: Why, one for each change.
          type: list
          elements: dict
          returned: always
          contains:
            input:
              description: V(config), V(environment), V(unit), V(packages) or V(process) (nothing runs).
              type: str
              returned: always
            what:
              description: The change, for example C(mem-fraction-static) and its old and new value. A secret is not shown.
              type: str
              returned: always
    environments:
      description: O(environments) against what is installed.
      type: list
      elements: dict
      returned: always
      contains:
        path: {type: str, returned: always, description: Path as given.}
        exists: {type: bool, returned: always, description: Whether there is a Python interpreter.}
        complete: {type: bool, returned: always, description: Whether all requirements are met.}
        missing: {type: dict, returned: always, description: "Wanted version of each distribution that is not there, by its name."}
        differs:
          description: Installed version of each distribution that has another one than wanted, by its name.
          type: dict
          returned: always
    missing_users: {type: list, elements: str, returned: always, description: Those of O(users) that do not exist.}
    missing_packages: {type: list, elements: str, returned: always, description: Those of O(packages) that are not installed.}
    port:
      description: Who listens on O(port). Null without that option.
      type: dict
      returned: always
      contains:
        number: {type: int, returned: always, description: The port.}
        listening: {type: bool, returned: always, description: Whether somebody listens.}
        listener_pid: {type: int, returned: always, description: "The process that listens. Null if none, or if it cannot be seen."}
        listener_unit: {type: str, returned: always, description: Its unit. Null if it has none.}
        ours: {type: bool, returned: always, description: "Whether it is the instance's unit."}
    other_engines:
      description: Every other C(sglang-*.service) that runs.
      type: list
      elements: dict
      returned: always
      contains:
        unit: {type: str, returned: always, description: Name of the unit.}
        memory_bytes:
          description: Host memory that its processes hold, or what its plan says if that is more.
          type: int
          returned: always
    records:
      description: What earlier runs recorded of the instance. Null for a record that is missing or cannot be read.
      type: dict
      returned: always
      contains:
        plan: {type: dict, returned: always, description: "The plan, as M(blackwell.inference.memory_plan) returned it."}
        verdict: {type: dict, returned: always, description: "The verdict, as M(blackwell.inference.server_verify) returned it."}
        calibration: {type: dict, returned: always, description: "The calibration, as M(blackwell.inference.server_verify) returned it."}
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
