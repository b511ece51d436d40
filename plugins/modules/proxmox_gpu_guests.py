#!/usr/bin/python
# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: proxmox_gpu_guests
short_description: See which guest of a Proxmox VE host has which GPU, and release what one guest has
version_added: 0.1.0
author: blackwell.inference contributors (@blackwell-inference)
description:
  - Runs on the host itself, as root, without further libraries.
  - Knows a container's processes by their control group, a virtual machine by its QEMU process and what that has open of C(/dev/vfio).
  - Releases the GPUs of one guest by a ladder, and climbs no further than was consented to. Processes of other guests and of the host are never touched,
    no driver is unbound, no card is removed, and the host is never rebooted by this module.
extends_documentation_fragment:
  - blackwell.inference.attributes
  - blackwell.inference.holders
attributes:
  check_mode:
    support: full
    details: Tells which rungs would be tried.
  diff_mode:
    support: none
options:
  state:
    description: V(listed) looks and touches nothing; V(released) climbs the ladder until nothing of O(guest) holds its GPUs and they are in order.
    type: str
    choices: [listed, released]
    default: listed
  guest:
    description: VMID of the guest whose GPUs are to be released; needed for O(state=released).
    type: int
  gpus:
    description: PCI addresses of those of its GPUs that are to be released. Empty means all.
    type: list
    elements: str
    default: []
  consent:
    description:
      - How far to go; each includes those before it.
      - V(processes) ends processes of a container one by one, V(guest_stop) stops the guest and starts it again afterwards, V(reset) resets a GPU that
        nobody has open, V(reboot) agrees to lose the other guests too. Even then the module does not reboot; it ends in the state V(ignore:needs_reboot).
    type: str
    choices: [none, processes, guest_stop, reset, reboot]
    default: none
  unit:
    description: With a container, a systemd unit inside. Only its processes are ended one by one, and then what is left of it is killed.
    type: str
  user:
    description: With a container, the numeric user inside whose processes alone are ended one by one.
    type: int
  deadline_seconds:
    description: How long each rung may take.
    type: float
    default: 300
"""

EXAMPLES = r"""
- name: See who has the GPUs
  blackwell.inference.proxmox_gpu_guests:
  register: seen

- name: End what one service in a container left behind
  blackwell.inference.proxmox_gpu_guests:
    state: released
    guest: 101
    unit: sglang-kimi.service
    consent: processes
"""

RETURN = r"""
guests:
  description:
    - The GPUs of the host, its guests with the processes that hold GPUs, and what became of the release.
    - The command line and the environment of a process are never returned.
  type: dict
  returned: success, and on failure if the host could be read
  contains:
    schema: {type: int, returned: always, description: Version of this structure.}
    gpus:
      description: NVIDIA GPUs of the host.
      type: list
      elements: dict
      returned: always
      contains:
        pci_address: {type: str, returned: always, description: Address on the PCI bus.}
        device_id: {type: str, returned: always, description: "Vendor and device, for example V(10de:2bb5)."}
        driver:
          description: Driver that the GPU is bound to, V(nvidia) or V(vfio-pci) for example. Null if none.
          type: str
          returned: always
        iommu_group: {type: int, returned: always, description: Its IOMMU group. Null if there is none.}
        device:
          description: Name of its device node, for example V(nvidia0). Null unless the nvidia driver has it.
          type: str
          returned: always
        guests: {type: list, elements: int, returned: always, description: VMIDs of the guests that have it.}
        holders: {type: list, elements: int, returned: always, description: "Pids, on the host, of the processes that have it open."}
    guests:
      description: Containers and virtual machines.
      type: list
      elements: dict
      returned: always
      contains:
        vmid: {type: int, returned: always, description: VMID.}
        kind: {type: str, returned: always, description: V(lxc) or V(qemu).}
        name: {type: str, returned: always, description: Its name. Null if it has none.}
        running: {type: bool, returned: always, description: Whether it runs.}
        gpus:
          description: PCI addresses of the GPUs that it was given or that its processes have.
          type: list
          elements: str
          returned: always
        holders:
          description: Its processes that have a GPU open. Of a virtual machine, its QEMU process.
          type: list
          elements: dict
          returned: always
          contains:
            pid: {type: int, returned: always, description: Pid on the host.}
            guest_pid: {type: int, returned: always, description: Pid inside the container.}
            name: {type: str, returned: always, description: Name of the process.}
            state: {type: str, returned: always, description: State letter of the kernel.}
            uid: {type: int, returned: always, description: User on the host.}
            guest_uid:
              description: User inside the container. Null for a VM, or if the container does not know that user.
              type: int
              returned: always
            start_ticks: {type: int, returned: always, description: "Start time in clock ticks since the boot, by which it is known again."}
            unit: {type: str, returned: always, description: Its systemd unit inside the container. Null if it has none.}
            devices: {type: dict, returned: always, description: V(descriptor) and V(mapping) by the name of the device node.}
    unread:
      description: What could not be read. A process among them may hold anything.
      type: list
      elements: dict
      returned: always
      contains:
        what: {type: str, returned: always, description: "A process, file or thing."}
        why: {type: str, returned: always, description: The reason.}
    release:
      description: What became of the release. Null with O(state=listed).
      type: dict
      returned: always
      contains:
        state: {type: str, returned: always, description: "V(released), V(held), V(needs_consent), V(needs_reset) or V(needs_reboot)."}
        rungs:
          description: The steps that were come to, in order.
          type: list
          elements: dict
          returned: always
          contains:
            rung: {type: str, returned: always, description: "V(processes), V(guest_stop), V(reset) or V(reboot)."}
            outcome:
              description: >-
                V(released), V(not_enough), V(failed), V(not_applicable), V(not_consented), V(left_to_play) (the reboot), or in check mode
                V(would_try).
              type: str
              returned: always
            what: {type: str, returned: always, description: "What was done, or would be, as a sentence."}
        why: {type: str, returned: always, description: "Why the GPUs are not free, as a sentence. Null if they are."}
        next_step: {type: str, returned: always, description: "What to do about it, as a sentence. Null if they are free."}
        consent_needed: {type: str, returned: always, description: The O(consent) that was missing. Null if none was.}
        restarted:
          description: Whether the guest, stopped here, was started again. Null if it was not stopped.
          type: bool
          returned: always
  sample:
    schema: 1
    gpus:
      - {pci_address: "0000:01:00.0", device_id: "10de:2bb5", driver: nvidia, iommu_group: 17, device: nvidia0, guests: [101], holders: [4711]}
    guests:
      - vmid: 101
        kind: lxc
        name: inference
        running: true
        gpus: ["0000:01:00.0"]
        holders:
          - pid: 4711
            guest_pid: 230
            name: "sglang::schedul"
            state: S
            uid: 100999
            guest_uid: 999
            start_ticks: 123456
            unit: sglang-kimi.service
            devices: {nvidia0: [descriptor, mapping], nvidia-uvm: [descriptor]}
    unread: []
    release:
      state: needs_consent
      rungs: [{rung: processes, outcome: not_consented, what: "Ends process 4711 (sglang::schedul) of guest 101."}]
      why: Process 4711 (sglang::schedul) of guest 101 holds GPU 0000:01:00.0.
      next_step: "Set consent to processes: ends process 4711 (sglang::schedul) of guest 101."
      consent_needed: processes
      restarted: null
"""

import os
import shutil

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import InferenceError, ReleaseError
from ansible_collections.blackwell.inference.plugins.module_utils.observe.files import HostFiles
from ansible_collections.blackwell.inference.plugins.module_utils.proxmox.commands import run_for
from ansible_collections.blackwell.inference.plugins.module_utils.proxmox.escalation import foresee, release
from ansible_collections.blackwell.inference.plugins.module_utils.proxmox.host import (
    ProxmoxHost,
    read_host,
    require_proxmox,
    scan_with,
)
from ansible_collections.blackwell.inference.plugins.module_utils.proxmox.state import (
    CONSENTS,
    ProxmoxRequest,
    guest_of,
    wanted,
)

ARGUMENTS = {
    "state": {"type": "str", "choices": ["listed", "released"], "default": "listed"},
    "guest": {"type": "int"},
    "gpus": {"type": "list", "elements": "str", "default": []},
    "consent": {"type": "str", "choices": list(CONSENTS), "default": "none"},
    "unit": {"type": "str"},
    "user": {"type": "int"},
    "grace_seconds": {"type": "float", "default": 30},
    "deadline_seconds": {"type": "float", "default": 300},
    "scan_timeout_seconds": {"type": "float", "default": 20},
}

NO_GUEST = (
    "state released was asked for without guest: only what belongs to one given guest is released. "
    "Give its VMID; state listed shows which guests have which GPU."
)

NO_SMI = (
    "nvidia-smi is not on PATH, and the nvidia driver of this host has the GPUs: only it tells whether their memory is free. "
    "Nothing was touched; install the driver's utilities of its version."
)


def run(module: AnsibleModule) -> None:
    asked = module.params
    if asked["state"] == "released" and asked["guest"] is None:
        raise ReleaseError(NO_GUEST)
    files = HostFiles()
    require_proxmox(files, lambda name: shutil.which(name) is not None)
    scan, node = scan_with(asked["scan_timeout_seconds"]), os.uname().nodename.partition(".")[0]
    host = read_host(files, run_for, scan, node)
    if asked["state"] == "listed":
        module.exit_json(changed=False, guests={**host.as_dict(), "release": None})
    guest = guest_of(host, asked["guest"])
    addresses = wanted(host, guest, asked["gpus"])
    selection = {name: asked[name] for name in ("consent", "unit", "user", "grace_seconds", "deadline_seconds")}
    request = ProxmoxRequest(guest.vmid, addresses, **selection)
    request.require_sense(guest)
    if shutil.which("nvidia-smi") is None and any(gpu.device for gpu in host.gpus if gpu.address in addresses):
        raise ReleaseError(NO_SMI)
    door = ProxmoxHost(files, run_for, scan, node, request)
    done = foresee(door.look(), request) if module.check_mode else release(door, request)
    seen = read_host(files, run_for, scan, node) if done.acted and not module.check_mode else host
    result = {"changed": done.acted, "guests": {**seen.as_dict(), "release": done.as_dict()}}
    if done.why is None or module.check_mode or (done.state == "needs_reboot" and asked["consent"] == "reboot"):
        module.exit_json(**result)
    module.fail_json(msg=f"{done.why} {done.next_step}", **result)


def main() -> None:
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    try:
        if os.geteuid() != 0:
            raise ReleaseError("Processes of guests can only be seen by root: run this as root (become: true).")
        run(module)
    except InferenceError as error:
        module.fail_json(msg=str(error), **error.details)


if __name__ == "__main__":
    main()
