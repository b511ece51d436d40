#!/usr/bin/python
# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: topology_facts
short_description: Gather what an inference server must know about a GPU host
version_added: 0.1.0
description:
  - Reads GPUs, interconnect, driver, memory, control group, limits, processors, virtualisation and kernel of the host.
  - NVML is read in a process of its own with a deadline, so a GPU that hangs or is lost becomes a fact and never a hung play.
  - A host without any NVIDIA GPU or driver is a fact too, and no failure.
  - Works for any user; what could not be read is listed with the reason.
  - Where the libraries are missing on the host, the action plugin of this name brings them along for the one run and nothing stays behind.
author:
  - blackwell.inference contributors (@blackwell-inference)
options:
  nvml_library:
    description:
      - Path of the NVML library.
      - By default the loader's C(libnvidia-ml.so.1).
    type: path
  nvml_timeout_seconds:
    description:
      - How long NVML may take for one answer, for example for one GPU.
      - Reading NVML as a whole takes at most six times as long, however many GPUs hang.
    type: float
    default: 20
extends_documentation_fragment:
  - blackwell.inference.attributes
  - blackwell.inference.toolbox
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
"""

EXAMPLES = r"""
- name: Look at the host
  blackwell.inference.topology_facts:

- name: Refuse to go on without eight working GPUs
  ansible.builtin.assert:
    that: ansible_facts.blackwell_topology.gpus | selectattr('state', 'eq', 'ok') | length == 8
    fail_msg: "{{ ansible_facts.blackwell_topology.gpus | map(attribute='error') | select | join(' ') }}"
"""

RETURN = r"""
ansible_facts:
  description: Facts to add to ansible_facts.
  returned: always
  type: dict
  contains:
    blackwell_topology:
      description: The host, key by key as docs/interface.md of the collection lists it.
      returned: always
      type: dict
      sample:
        schema: 1
        gpus:
          - index: 0
            state: ok
            name: NVIDIA RTX PRO 6000 Blackwell Server Edition
            pci_address: "0000:01:00.0"
            memory_total_bytes: 102641958912
        driver: {version: "580.95.05", cuda_version: "13.0", error: null}
        unread: [{what: /proc/1/environ, why: Permission denied}]
missing_libraries:
  description: The libraries that were not found, and the Python and machine they are wanted for.
  returned: when libraries are missing
  type: dict
  sample: {distributions: [nvidia-ml-py], python_version: 3.13.5, implementation: CPython, machine: x86_64, libc: glibc-2.41}
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.blackwell.inference.plugins.module_utils.core import libraries
from ansible_collections.blackwell.inference.plugins.module_utils.observe.files import HostFiles
from ansible_collections.blackwell.inference.plugins.module_utils.observe.nvml.gpus import ChildNvmlReader
from ansible_collections.blackwell.inference.plugins.module_utils.observe.topology import observe
from ansible_collections.blackwell.inference.plugins.module_utils.observe.virtualisation import ask_systemd

ARGUMENTS = {
    **libraries.ARGUMENTS,
    "nvml_library": {"type": "path"},
    "nvml_timeout_seconds": {"type": "float", "default": 20},
}


def main() -> None:
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    timeout = module.params["nvml_timeout_seconds"]
    if timeout <= 0:
        module.fail_json(msg=f"nvml_timeout_seconds is {timeout:g}: more than 0 was expected, for example 20.")
    libraries.require(module, "pynvml", "psutil")
    files = HostFiles()
    nvml = ChildNvmlReader(files, module.params["nvml_library"], timeout)
    topology = observe(files, nvml, ask_systemd(module))
    module.exit_json(changed=False, ansible_facts={"blackwell_topology": topology.as_dict()})


if __name__ == "__main__":
    main()
