#!/usr/bin/python
# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_release
short_description: Find what holds the GPUs, end what is ours, prove that they are free
version_added: 0.1.0
author:
  - blackwell.inference contributors (@blackwell-inference)
description:
  - Lists every process that has a GPU open or mapped, or that NVML lists, also behind a leader that has exited, in other namespaces and under other paths.
  - With O(state=released) ends the processes that O(unit), or O(user) and O(environment), show to be ours, by TERM and then KILL, and no others. Each is
    known again by its start time, control group, user and executable before every signal.
  - Then waits until memory and holders prove the GPUs free, and fails with the next step where they do not.
  - The driver's own services, displays, other users' and other units' processes, and those of the running O(unit) itself, are never signalled.
extends_documentation_fragment:
  - blackwell.inference.attributes
  - blackwell.inference.toolbox
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
options:
  state:
    description: V(listed) looks and touches nothing; V(released) ends what is ours and waits for the proof that the GPUs are free.
    type: str
    choices: [listed, released]
    default: listed
  gpus:
    description: GPUs by index, UUID or PCI address; all by default.
    type: list
    elements: str
    default: []
  unit:
    description: Unit whose control group's processes are ours, as far as they are not those of a start that runs now.
    type: str
  user:
    description: User, by name or number, whose processes are ours; with O(environment), those that have both.
    type: str
  environment:
    description: Variables in the environment of the processes that are ours, all of which must match.
    type: dict
    default: {}
  allow:
    description: Absolute paths of executables, and names of units, that may keep the GPUs open.
    type: list
    elements: str
    default: []
  grace_seconds:
    description: How long a process has between TERM and KILL.
    type: float
    default: 30
  deadline_seconds:
    description: How long the release may take in all.
    type: float
    default: 180
  polls:
    description: How many readings in a row must find the GPUs free.
    type: int
    default: 3
  poll_seconds:
    description: Time between two readings.
    type: float
    default: 1
  idle_memory_bytes:
    description:
      - What a free GPU may show as used; one hundredth of the card where that is more.
      - Another hundredth is allowed where the driver does not tell its own part.
    type: int
    default: 629145600
  evidence_since:
    description:
      - Time from which faults in the kernel log count, as C(journalctl --since) takes it.
      - By default the last start of O(unit), else the boot.
    type: str
  leftovers:
    description: Whether shared memory that dead processes of O(user) left is removed.
    type: bool
    default: true
  scan_timeout_seconds:
    description: How long the search for holders may be silent before the process it looks at is left out.
    type: float
    default: 20
  nvml_library:
    description:
      - Path of the NVML library.
      - By default the loader's C(libnvidia-ml.so.1).
    type: path
  nvml_timeout_seconds:
    description: How long NVML may take for one answer.
    type: float
    default: 20
"""

EXAMPLES = r"""
- name: See what holds the GPUs
  blackwell.inference.gpu_release:
  register: gpus

- name: Release what the instance kimi left behind
  blackwell.inference.gpu_release:
    state: released
    unit: sglang-kimi.service
    user: sglang
    environment:
      BLACKWELL_INSTANCE: kimi
"""

RETURN = r"""
release:
  description: Holders, GPUs, outcome and next step, key by key as docs/interface.md of the collection lists it.
  returned: unless the options cannot be understood
  type: dict
  sample:
    state: held
    why: GPU 0 has 16.0 GiB in use and is held by process 4711 (python3).
    next_step: >-
      Nothing shows that it is ours: uid 1000, session-3.scope, /usr/bin/python3.
      Ask its owner to end it, or name the executable or the unit in allow.
    obstacles:
      - state: held
        message: >-
          GPU 0 has 16.0 GiB in use and is held by process 4711 (python3).
          Nothing shows that it is ours: uid 1000, session-3.scope, /usr/bin/python3.
          Ask its owner to end it, or name the executable or the unit in allow.
    selected: []
    gpus: [{index: 0, state: held, memory_used_bytes: 17179869184, memory_unseen_bytes: 0}]
    holders: [{pid: 4711, name: python3, user: alice, owner: not_ours, outcome: not_ours, gpus: [0]}]
missing_libraries:
  description: The libraries that were not found, and the Python and machine they are wanted for.
  returned: when libraries are missing
  type: dict
  sample: {distributions: [nvidia-ml-py], python_version: 3.13.5, implementation: CPython, machine: x86_64, libc: glibc-2.41}
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.blackwell.inference.plugins.module_utils.core import libraries
from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import InferenceError
from ansible_collections.blackwell.inference.plugins.module_utils.observe.virtualisation import ask_systemd
from ansible_collections.blackwell.inference.plugins.module_utils.release.host import LocalHost
from ansible_collections.blackwell.inference.plugins.module_utils.release.release import list_holders, release
from ansible_collections.blackwell.inference.plugins.module_utils.release.request import ARGUMENTS, read_request


def main() -> None:
    module = AnsibleModule(argument_spec={**libraries.ARGUMENTS, **ARGUMENTS}, supports_check_mode=True)
    libraries.require(module, "pynvml")
    wanted = module.params["state"] == "released"
    try:
        request = read_request(module.params)
        host = LocalHost(request, module.run_command, ask_systemd(module))
        report = release(host, request) if wanted and not module.check_mode else list_holders(host, request)
    except InferenceError as error:
        module.fail_json(msg=str(error), **error.details)
    result = {"changed": wanted and report.changes, "release": report.as_dict()}
    if wanted and not module.check_mode and not report.succeeded:
        module.fail_json(msg=f"{report.finding.why} {report.finding.next_step}", **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
