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
  - If the libraries are missing on the host, the action plugin of this name brings them along for the one run and nothing stays behind.
author:
  - blackwell.inference contributors (@blackwell-inference)
extends_documentation_fragment:
  - blackwell.inference.attributes
  - blackwell.inference.nvml
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
  description: Facts to add to C(ansible_facts).
  type: dict
  returned: success
  contains:
    blackwell_topology:
      description: The host. A value that cannot be told is null, and its key is there all the same.
      type: dict
      returned: success
      contains:
        schema: {type: int, returned: always, description: Version of this structure.}
        gpus:
          description: >-
            The GPUs that NVML lists, in its order. A lost or hung GPU keeps C(index), C(state), C(error) and, if it follows from the
            others, C(pci_address).
          type: list
          elements: dict
          returned: always
          contains:
            index: {type: int, returned: always, description: "NVML's number of the GPU."}
            state:
              description: V(ok), V(lost) (off the bus, or it wants a reset), V(timeout) (no answer in time) or V(error).
              type: str
              returned: always
            error:
              description: What is wrong and what to do about it, as a sentence. Null if the state is V(ok).
              type: str
              returned: always
            minor: {type: int, returned: always, description: "Number in the name of its device node, V(0) for C(/dev/nvidia0)."}
            name: {type: str, returned: always, description: Product name.}
            uuid: {type: str, returned: always, description: "UUID, beginning with C(GPU-)."}
            serial: {type: str, returned: always, description: Serial number.}
            pci_address: {type: str, returned: always, description: "Address on the PCI bus, for example V(0000:01:00.0)."}
            memory_total_bytes: {type: int, returned: always, description: Memory of the card.}
            memory_used_bytes:
              description: Memory in use, without the driver's own part if the driver tells it.
              type: int
              returned: always
            memory_reserved_bytes: {type: int, returned: always, description: "The driver's own part. Null if the driver does not tell it."}
            memory_free_bytes: {type: int, returned: always, description: Free memory.}
            bar1_total_bytes:
              description: Size of the window through which the host reaches the card's memory.
              type: int
              returned: always
            compute_capability: {type: str, returned: always, description: "Compute capability, V(12.0) for an RTX PRO 6000 Blackwell."}
            ecc:
              description: Error correction.
              type: dict
              returned: always
              contains:
                current: {type: bool, returned: always, description: Whether it is on now.}
                pending: {type: bool, returned: always, description: Whether it is on after the next reset.}
            mig:
              description: Partition of the card into instances (MIG).
              type: dict
              returned: always
              contains:
                current: {type: bool, returned: always, description: Whether it is on now.}
                pending: {type: bool, returned: always, description: Whether it is on after the next reset.}
            persistence: {type: bool, returned: always, description: Whether the driver keeps the card initialised while nobody uses it.}
            power:
              description: Power in watts.
              type: dict
              returned: always
              contains:
                limit_watts: {type: float, returned: always, description: Limit in force.}
                default_watts: {type: float, returned: always, description: Limit after a reset.}
                min_watts: {type: float, returned: always, description: Lowest limit that can be set.}
                max_watts: {type: float, returned: always, description: Highest limit that can be set.}
                usage_watts: {type: float, returned: always, description: What the card draws now.}
            pcie:
              description: Link to the PCI bus. An idle card may show a lower generation than under load.
              type: dict
              returned: always
              contains:
                generation: {type: int, returned: always, description: Generation in use.}
                width: {type: int, returned: always, description: Lanes in use.}
                max_generation: {type: int, returned: always, description: Highest generation that both ends have.}
                max_width: {type: int, returned: always, description: Most lanes that both ends have.}
            numa_node: {type: int, returned: always, description: "NUMA node of the card. Null if there is none, as in a VM."}
            cpu_affinity: {type: str, returned: always, description: "Processors near the card, for example V(0-63)."}
            nvlinks_active: {type: int, returned: always, description: NVLinks that are up. Null for a card without NVLink.}
            fabric:
              description: Registration with the NVLink fabric. Null for a card without one.
              type: dict
              returned: always
              contains:
                state: {type: str, returned: always, description: "V(not_started), V(in_progress) or V(completed)."}
                status: {type: str, returned: always, description: The NVML status of the registration.}
        interconnect:
          description: >-
            How GPUs reach each other. Each matrix is square, in the order of RV(ignore:gpus). Null in a cell: the pair could not be asked.
          type: dict
          returned: always
          contains:
            ancestor:
              description: V(SELF), V(INTERNAL), V(PIX), V(PXB), V(PHB), V(NODE) or V(SYS), from the nearest to the farthest.
              type: list
              elements: list
              returned: always
            p2p_read:
              description: Whether one GPU can read the other's memory. V(SELF), V(OK) or the NVML status.
              type: list
              elements: list
              returned: always
            p2p_write:
              description: Whether one GPU can write the other's memory. V(SELF), V(OK) or the NVML status.
              type: list
              elements: list
              returned: always
        driver:
          description: The NVIDIA driver.
          type: dict
          returned: always
          contains:
            version: {type: str, returned: always, description: "Version of the driver's libraries."}
            nvml_version: {type: str, returned: always, description: Version of the NVML library.}
            cuda_version: {type: str, returned: always, description: "Newest CUDA version that the driver serves, for example V(13.0)."}
            kernel_module_version: {type: str, returned: always, description: Version of the loaded kernel module.}
            kernel_module_open:
              description: Whether it is the open kernel module. Null if none is loaded or its kind does not show.
              type: bool
              returned: always
            error: {type: str, returned: always, description: "Why NVML tells of no GPU, as a sentence."}
        pci_gpus:
          description: NVIDIA GPUs on the PCI bus, also those without a driver.
          type: list
          elements: dict
          returned: always
          contains:
            address: {type: str, returned: always, description: Address on the bus.}
            device_id: {type: str, returned: always, description: "Vendor and device, for example V(10de:2bb5)."}
            driver:
              description: Driver that the GPU is bound to, for example V(nvidia) or V(vfio-pci). Null if none.
              type: str
              returned: always
            numa_node: {type: int, returned: always, description: NUMA node. Null if there is none.}
            local_cpus: {type: str, returned: always, description: Processors near the GPU.}
            iommu_group: {type: int, returned: always, description: Its IOMMU group. Null if there is none.}
        memory:
          description: Memory of the host.
          type: dict
          returned: always
          contains:
            total_bytes: {type: int, returned: always, description: All of it.}
            available_bytes:
              description: What the kernel calls available. Pages of files count as available, the ZFS cache does not.
              type: int
              returned: always
            free_bytes: {type: int, returned: always, description: "What nobody uses, not even as a cache."}
            cached_bytes: {type: int, returned: always, description: Pages of files.}
            shmem_bytes: {type: int, returned: always, description: Shared memory.}
            swap_total_bytes: {type: int, returned: always, description: Swap.}
            swap_free_bytes: {type: int, returned: always, description: Free swap.}
            zfs_arc_bytes:
              description: What the ZFS cache holds now. 0 without ZFS, as are the two figures that follow.
              type: int
              returned: always
            zfs_arc_min_bytes: {type: int, returned: always, description: What the ZFS cache shrinks to at most.}
            zfs_arc_max_bytes: {type: int, returned: always, description: What the ZFS cache grows to at most.}
            transparent_huge_pages: {type: str, returned: always, description: "V(always), V(madvise) or V(never)."}
            huge_pages:
              description: Reserved huge pages, by size and NUMA node.
              type: list
              elements: dict
              returned: always
              contains:
                size_bytes: {type: int, returned: always, description: Size of one page.}
                total: {type: int, returned: always, description: Pages reserved.}
                free: {type: int, returned: always, description: Pages free.}
                node: {type: int, returned: always, description: NUMA node. Null if the kernel shows no nodes.}
            numa_nodes:
              description: NUMA nodes.
              type: list
              elements: dict
              returned: always
              contains:
                node: {type: int, returned: always, description: Number of the node.}
                total_bytes: {type: int, returned: always, description: Its memory.}
                free_bytes: {type: int, returned: always, description: Its free memory.}
                cpus: {type: str, returned: always, description: "Its processors, for example V(0-63)."}
        cgroup:
          description: The smallest memory limit from this process's control group up to the root, which in a container is its own.
          type: dict
          returned: always
          contains:
            version: {type: int, returned: always, description: "Version of the control groups, V(1) or V(2). Null without any."}
            limit_bytes: {type: int, returned: always, description: More than this gets a process killed. Null if nothing limits.}
            current_bytes: {type: int, returned: always, description: What the group that limits uses now.}
            limiting_path: {type: str, returned: always, description: That group.}
            throttle_bytes:
              description: More than this slows the group down (the smallest C(memory.high)). Null if nothing does.
              type: int
              returned: always
            cached_bytes:
              description: Pages of files in C(current_bytes), which the kernel drops before it kills.
              type: int
              returned: always
        memlock:
          description: Limit of locked memory of this process.
          type: dict
          returned: always
          contains:
            soft_bytes: {type: int, returned: always, description: Limit in force. Null if unlimited.}
            hard_bytes: {type: int, returned: always, description: Highest limit that the process may set. Null if unlimited.}
        cpu:
          description: Processors.
          type: dict
          returned: always
          contains:
            model: {type: str, returned: always, description: Name of the processor.}
            logical: {type: int, returned: always, description: Processors that the kernel schedules on.}
            physical: {type: int, returned: always, description: "Cores. Null if the kernel does not show them, as in some guests."}
            sockets: {type: int, returned: always, description: Packages. Null if the kernel does not show them.}
        virtualisation:
          description: What kind of machine this is. A container is named before the VM that it runs in.
          type: dict
          returned: always
          contains:
            kind:
              description: V(bare_metal), V(kvm), V(lxc), V(docker), V(podman), V(systemd-nspawn) or another word of C(systemd-detect-virt).
              type: str
              returned: always
            proxmox: {type: bool, returned: always, description: Whether this is a Proxmox VE host. Null if it would not show.}
            evidence: {type: list, elements: str, returned: always, description: What that was told by.}
        kernel:
          description: The kernel.
          type: dict
          returned: always
          contains:
            release: {type: str, returned: always, description: Its release.}
            command_line: {type: str, returned: always, description: Its command line.}
            iommu_mode:
              description: V(off), V(passthrough), V(translated), V(mixed) or V(unknown) (groups are there, their types cannot be read).
              type: str
              returned: always
            iommu_groups: {type: int, returned: always, description: Number of IOMMU groups.}
            modules:
              description: Loaded modules of the NVIDIA driver and of VFIO.
              type: list
              elements: dict
              returned: always
              contains:
                name: {type: str, returned: always, description: Name of the module.}
                version: {type: str, returned: always, description: Its version. Null if it tells none.}
                parameters: {type: dict, returned: always, description: "Its parameters, by name, as text."}
        unread:
          description: What could not be read.
          type: list
          elements: dict
          returned: always
          contains:
            what: {type: str, returned: always, description: A file or a thing.}
            why: {type: str, returned: always, description: The reason.}
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
