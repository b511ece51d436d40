#!/usr/bin/python
# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: pinned_environment
short_description: Make a Python environment of what a lock pins, and say how far it is
version_added: 0.1.0
author:
  - blackwell.inference contributors (@blackwell-inference)
description:
  - Removes what lies at O(path) and makes a virtual environment there with pip, which takes nothing that is not pinned by its hash.
  - The installation outlives the call. One that a killed play left is waited for if it is of the same lock and options, and ended if it is not.
  - Used as a task, the action plugin of the same name calls the module on the host again and again and shows how much has been fetched and installed, how
    long that took, and how long it may take in all. The module alone watches for O(observe_seconds) and returns.
  - Always reports a change. Whether the environment is complete already says M(blackwell.inference.deployment_info).
extends_documentation_fragment:
  - blackwell.inference.attributes
attributes:
  check_mode:
    support: full
    details: Reports the change and touches nothing.
  diff_mode:
    support: none
options:
  path:
    description: Directory of the environment.
    type: path
    required: true
  requirements:
    description: Requirements file on the host, with hashes.
    type: path
    required: true
  python:
    description: Interpreter that the environment is made with.
    type: str
    default: python3
  wheels:
    description: Folder on the host, or address of a page, with the wheels. Empty means the package index that pip is set up for.
    type: str
    default: ""
  observe_seconds:
    description: How long one call on the host watches.
    type: float
    default: 5
  again:
    description: Whether this call goes on with what one before began. The action plugin says so; a task has no use for it.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Install what the lock pins
  blackwell.inference.pinned_environment:
    path: /opt/sglang/0.5.9-1a2b3c4d
    requirements: /opt/sglang/0.5.9-1a2b3c4d.txt
"""

RETURN = r"""
installation:
  description: How far the installation is.
  returned: unless in check mode
  type: dict
  contains:
    state:
      description: One of V(running), V(done) and V(failed).
      type: str
      returned: always
      sample: done
    elapsed_seconds:
      description: Seconds since it began.
      type: float
      returned: always
      sample: 95.2
    collected:
      description: Distributions that pip has come to.
      type: int
      returned: always
      sample: 57
    total:
      description: Distributions that are pinned.
      type: int
      returned: always
      sample: 156
    fetched_bytes:
      description: Bytes that pip fetched, or is fetching, as it says.
      type: int
      returned: always
      sample: 2310000000
    installing:
      description: 1 if everything was fetched and is being installed, else 0.
      type: int
      returned: always
      sample: 1
    installed_bytes:
      description: Bytes that lie in the environment.
      type: int
      returned: always
      sample: 8400000000
    reason:
      description: Last lines of the log if it failed.
      type: str
      returned: always
      sample: null
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import InferenceError
from ansible_collections.blackwell.inference.plugins.module_utils.deploy import installation

ARGUMENTS = {
    "path": {"type": "path", "required": True},
    "requirements": {"type": "path", "required": True},
    "python": {"type": "str", "default": "python3"},
    "wheels": {"type": "str", "default": ""},
    "observe_seconds": {"type": "float", "default": 5},
    "again": {"type": "bool", "default": False},
}


def main() -> None:
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    if module.check_mode:
        module.exit_json(changed=True)
    params = module.params
    wanted = installation.Installation(
        Path(params["path"]), Path(params["requirements"]), params["python"], params["wheels"]
    )
    try:
        if not params["again"]:
            wanted.begin()
        seen = installation.watch(wanted, params["observe_seconds"])
    except InferenceError as error:
        module.fail_json(msg=str(error), **error.details)
    except OSError as error:
        module.fail_json(
            msg=f"The environment {params['path']} could not be made: {error.filename}: {error.strerror}. "
            "A requirements file, and a folder beside it that is writable, were expected."
        )
    if seen["state"] == installation.FAILED:
        module.fail_json(
            msg=f"What {params['requirements']} pins could not be installed into {params['path']}. pip said last: {seen['reason']}. "
            "Correct what it names, and run this again.",
            installation=seen,
        )
    if seen["state"] != installation.RUNNING:
        wanted.finish()
    module.exit_json(changed=True, installation=seen)


if __name__ == "__main__":
    main()
