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
  - Then waits until memory and holders prove the GPUs free, and fails with the next step if they do not.
  - The driver's own services, displays, other users' and other units' processes, and those of the running O(unit) itself, are never signalled.
extends_documentation_fragment:
  - blackwell.inference.attributes
  - blackwell.inference.holders
  - blackwell.inference.nvml
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
      - What a free GPU may show as used, or one hundredth of the card if that is more.
      - Another hundredth is allowed if the driver does not tell its own part.
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
  description: What holds the GPUs, what became of it, and what to do next.
  type: dict
  returned: success, and on failure unless the options or the host could not be read
  contains:
    schema: {type: int, returned: always, description: Version of this structure.}
    state:
      description:
        - The worst state of a GPU. V(released) is the best, then V(held), V(held_by_unseen), V(unproven), V(needs_reset) and
          V(needs_reboot).
        - "V(held): by processes that are seen and are not to be ended here. V(held_by_unseen): memory is used, this is a container, and
          only the host can tell by whom. V(unproven): NVML does not answer, what uses the memory could not be seen, or fewer free readings
          than O(polls) fitted into the time."
      type: str
      returned: always
    why:
      description: >-
        The first reason, as a sentence. Null if the GPUs are free. A hardware fault in the kernel log goes first, also if the state is
        V(released).
      type: str
      returned: always
    next_step: {type: str, returned: always, description: "What to do about it, as a sentence. Null if the GPUs are free."}
    obstacles:
      description: What stands in the way beside what is ours and the running O(unit) itself.
      type: list
      elements: dict
      returned: always
      contains:
        state: {type: str, returned: always, description: "A state as above, or V(hardware_fault)."}
        message: {type: str, returned: always, description: The reason and the next step.}
    selected:
      description: Pids that are ours. O(state=released) signals them, O(state=listed) tells that it would.
      type: list
      elements: int
      returned: always
    gpus:
      description: The GPUs that were asked about.
      type: list
      elements: dict
      returned: always
      contains:
        index: {type: int, returned: always, description: "NVML's number of the GPU."}
        uuid: {type: str, returned: always, description: Its UUID. Null for a GPU that does not tell it.}
        pci_address: {type: str, returned: always, description: Its PCI address. Null for a GPU that does not tell it.}
        device:
          description: Name of its device node, for example V(nvidia0). Null for a GPU that does not tell it.
          type: str
          returned: always
        state: {type: str, returned: always, description: Its state.}
        why: {type: str, returned: always, description: The reason. Null if it is released.}
        memory_used_bytes: {type: int, returned: always, description: Memory in use. Null if the GPU does not tell it.}
        memory_seen_bytes: {type: int, returned: always, description: Memory of the processes that NVML lists.}
        memory_unseen_bytes: {type: int, returned: always, description: Memory that none of those explains. Null if it is not known.}
        idle_memory_bytes: {type: int, returned: always, description: What this GPU may show as used when it is free.}
        recovery_action:
          description: >-
            V(none), V(gpu_reset), V(node_reboot), V(drain_p2p), V(drain_and_reset), V(recover_imex), V(bus_reset), V(system_reboot), or the
            number of another one. Null if the driver does not tell.
          type: str
          returned: always
    holders:
      description: Processes that have a GPU open or mapped, or that NVML lists.
      type: list
      elements: dict
      returned: always
      contains:
        pid: {type: int, returned: always, description: Process id.}
        namespace_pids:
          description: Its pids from the outermost namespace that is seen to its own.
          type: list
          elements: int
          returned: always
        name: {type: str, returned: always, description: Name of the process.}
        executable: {type: str, returned: always, description: Path of its executable. Null if it cannot be read.}
        user: {type: str, returned: always, description: "Its user, as a number if it has no name."}
        uid: {type: int, returned: always, description: Number of its user.}
        start_ticks: {type: int, returned: always, description: "Start time in clock ticks since the boot, by which it is known again."}
        started: {type: str, returned: always, description: Start time (UTC).}
        state:
          description: State letter of the kernel, V(S) sleeping or V(D) waiting in the kernel for example.
          type: str
          returned: always
        live_threads: {type: int, returned: always, description: Threads that have not exited.}
        parent_pid: {type: int, returned: always, description: Its parent.}
        unit: {type: str, returned: always, description: Its systemd unit. Null if it has none.}
        control_group: {type: str, returned: always, description: Its control group.}
        container: {type: str, returned: always, description: The container that it runs in. Null outside of one.}
        devices: {type: dict, returned: always, description: V(descriptor) and V(mapping) by the name of the device node.}
        gpus: {type: list, elements: int, returned: always, description: Indices of the GPUs that it has.}
        gpu_memory_bytes:
          description: Memory by the index of the GPU, as NVML lists it. Null if NVML does not tell how much.
          type: dict
          returned: always
        owner:
          description: V(ours), V(protected) (never ended here, whatever else is true of it) or V(not_ours).
          type: str
          returned: always
        why: {type: str, returned: always, description: "How that is known, as a sentence."}
        blocks:
          description: Whether it stands in the way. One that only watches, a service of the driver, and what O(allow) names do not.
          type: bool
          returned: always
        outcome:
          description:
            - What became of it. Null if the GPUs were only listed.
            - V(exited) (after the last of its signals), V(survived_kill), V(vanished) (before any signal), V(changed_identity) (another
              process than was listed, so not signalled again), V(respawned) (ours, started after the others were ended, so never
              signalled), V(protected) or V(not_ours).
          type: str
          returned: always
        signals: {type: list, elements: str, returned: always, description: "Signals that were sent to it, V(TERM) and V(KILL)."}
        wait_channel: {type: str, returned: always, description: The kernel function that it waits in if KILL did not end it. Else null.}
    leftovers:
      description: Shared memory that dead processes of O(user) left.
      type: list
      elements: dict
      returned: always
      contains:
        path: {type: str, returned: always, description: Path of the file.}
        size_bytes: {type: int, returned: always, description: Its size.}
        removed: {type: bool, returned: always, description: Whether it was removed.}
    kernel:
      description: What the kernel log says of these GPUs.
      type: dict
      returned: always
      contains:
        since: {type: str, returned: always, description: Time from which entries count. Null if no log could be read.}
        readable: {type: bool, returned: always, description: "Whether a log could be read. If not, that it shows no fault proves nothing."}
        xids:
          description: Errors that the driver reported. The newest of each number on each GPU.
          type: list
          elements: dict
          returned: always
          contains:
            number: {type: int, returned: always, description: Number of the Xid.}
            pci_address: {type: str, returned: always, description: The GPU.}
            kind: {type: str, returned: always, description: "V(application), V(hardware) (stops a release), V(consequence) or V(unknown)."}
            what: {type: str, returned: always, description: What the number means.}
            time: {type: str, returned: always, description: Time of the entry (UTC).}
            line: {type: str, returned: always, description: The line of the log.}
        faults:
          description: Other signs of a broken GPU. Each stops a release.
          type: list
          elements: dict
          returned: always
          contains:
            kind:
              description: >-
                V(oops) (the kernel broke in the driver), V(gsp) (firmware), V(reset) (the GPU did not come back from one) or V(bus).
              type: str
              returned: always
            pci_address: {type: str, returned: always, description: The GPU. Null if the line does not tell; it then counts for all.}
            what: {type: str, returned: always, description: What it means.}
            time: {type: str, returned: always, description: Time of the entry (UTC).}
            line: {type: str, returned: always, description: The line of the log.}
    unread:
      description: What could not be read.
      type: list
      elements: dict
      returned: always
      contains:
        what: {type: str, returned: always, description: "A process, file or thing."}
        why: {type: str, returned: always, description: The reason.}
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
  description: What a copy of the missing libraries must fit.
  type: dict
  returned: when libraries are missing
  contains:
    distributions:
      description: The libraries that were not found, by the names of the package index.
      type: list
      elements: str
      returned: always
    python_version: {type: str, returned: always, description: Version of Python that the module ran under.}
    implementation: {type: str, returned: always, description: "Kind of Python, for example V(CPython)."}
    machine: {type: str, returned: always, description: Processor architecture.}
    libc: {type: str, returned: always, description: C library and its version.}
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
