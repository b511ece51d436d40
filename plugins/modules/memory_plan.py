#!/usr/bin/python
# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: memory_plan
short_description: Plan what an engine will allocate, and refuse what cannot work
version_added: 0.1.0
author: blackwell.inference contributors (@blackwell-inference)
description:
  - Computes, for one instance, what SGLang will take of each GPU and of the host, what remains, and the flags that say so to the engine.
  - Touches nothing and reads nothing, all it knows is in its options. It runs on the controller, and opens no connection to the host.
  - Ends with a sentence for each wish that cannot be met. Some of those refusals can be overridden with C(force) in O(serving).
extends_documentation_fragment:
  - blackwell.inference.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  async:
    description: Can be used with the C(async) keyword.
    support: none
options:
  topology:
    description: The host, as M(blackwell.inference.topology_facts) returns it.
    type: dict
  hardware:
    description:
      - Hardware as data, for a host that nobody owns yet. Required are C(gpus), C(gpu_memory_gib) (memory.total of nvidia-smi) and C(ram_gib).
      - C(gpu_name), C(compute_capability), C(gpu_free_gib), C(gpu_free_before_load_gib), C(gpu_free_after_load_gib), C(ram_available_gib),
        C(cgroup_limit_gib), C(memlock_gib) and C(numa_nodes) sharpen the plan.
      - By C(gpu_name) or C(compute_capability) it is known what does not run on the card.
    type: dict
  model:
    description: The model, as M(blackwell.inference.model_info) returns it.
    type: dict
    required: true
  draft_model:
    description: The checkpoint that drafts, as M(blackwell.inference.model_info) returns it, where it is one of its own.
    type: dict
  draft_model_path:
    description: Its directory on the host.
    type: str
  refuses:
    description: What the model's profile warns of, as its C(refuses). Each row says C(when) it holds, C(why), and whether to refuse or to note.
    type: list
    elements: dict
    default: []
  engine_version:
    description: Version of SGLang.
    type: str
    required: true
  serving:
    description: Wishes, for example C(tp), C(mem_fraction_static), C(context_length), C(hicache_size), C(force). See the interface document.
    type: dict
    default: {}
  arguments:
    description: Further engine flags by their names without dashes in front. A null takes a flag away.
    type: dict
    default: {}
  environment:
    description: Environment variables of the engine's process. C(CUDA_VISIBLE_DEVICES) says which GPUs it sees, by index or UUID.
    type: dict
    default: {}
  calibration:
    description: Measured figures of an earlier start, each optional.
    type: dict
    default: {}
  recorded:
    description:
      - What earlier runs left on the host, as C(records) of M(blackwell.inference.deployment_info).
      - While O(instance_running), the C(observation) of the recorded plan is used instead of today's free memory. Where nothing else changed, the plan is
        the recorded one to the last byte.
      - A plan that differs anyway, or whose verification failed, takes the measured C(calibration), where that was measured with the same checkpoint, engine
        version, ranks and cards. It beats O(calibration).
      - A record that cannot be read is left aside with a warning.
    type: dict
    default: {}
  other_engines:
    description:
      - What other inference servers hold of the host's memory, as M(blackwell.inference.deployment_info) returns it.
      - Each has C(unit) and C(memory_bytes).
    type: list
    elements: dict
    default: []
  instance_running:
    description: Whether the instance that is planned runs already, and so takes memory itself.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Plan for this host
  blackwell.inference.memory_plan:
    topology: "{{ ansible_facts['blackwell_topology'] }}"
    model: "{{ served.model }}"
    engine_version: "0.5.9"
    serving:
      tp: 8
      mem_fraction_static: 0.88
      hicache_size: 48

- name: Plan for hardware that nobody owns yet
  blackwell.inference.memory_plan:
    hardware: {gpus: 8, gpu_memory_gib: 95.59, ram_gib: 449}
    model: "{{ inference_profile_data.model }}"
    engine_version: "0.5.23"
    serving: {tp: 8}
"""

RETURN = r"""
plan:
  description: The plan, in bytes and seconds. C(arguments) holds every engine flag, C(observation) the host that the plan stands on.
  returned: success
  type: dict
  sample:
    schema: 1
    engine: {version: 0.5.9, dialect: 0.5.9}
    device: cuda
    ranks: 8
    pool: {tokens: 159294, cell_bytes: 70272, kv_bytes: 11193907968}
    concurrency: {request_tokens: 4000, requests: 39}
    arguments: {device: cuda, mem-fraction-static: 0.88, tp-size: 8}
report:
  description: The plan as lines of a table, with what, GiB and source, then refusals and notes.
  returned: success, and on a refusal after which figures still mean something
  type: list
  elements: str
  sample: ["Pool: 159,294 tokens on each rank, enough for 39 requests of 4,000 tokens at once"]
plan_text:
  description: The same as one text.
  returned: success
  type: str
  sample: "Pool: 159,294 tokens on each rank, enough for 39 requests of 4,000 tokens at once\n"
plan_html:
  description: The same as one HTML page with pictures, which needs nothing from anywhere. The page of a refused plan says so first.
  returned: success, and on a refusal after which figures still mean something
  type: str
  sample: "<!DOCTYPE html>"
refusals:
  description: What was refused.
  returned: on a refusal
  type: list
  elements: dict
  sample: [{name: headroom, message: mem_fraction_static 0.93 leaves 0.83 GiB free, overridable: true}]
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

ARGUMENTS: dict[str, Any] = {
    "topology": {"type": "dict"},
    "hardware": {"type": "dict"},
    "model": {"type": "dict", "required": True},
    "draft_model": {"type": "dict"},
    "draft_model_path": {"type": "str"},
    "refuses": {"type": "list", "elements": "dict", "default": []},
    "engine_version": {"type": "str", "required": True},
    "serving": {"type": "dict", "default": {}},
    "arguments": {"type": "dict", "default": {}},
    "environment": {"type": "dict", "default": {}},
    "calibration": {"type": "dict", "default": {}},
    "recorded": {"type": "dict", "default": {}},
    "other_engines": {"type": "list", "elements": "dict", "default": []},
    "instance_running": {"type": "bool", "default": False},
}
RULES: dict[str, Any] = {
    "required_one_of": [("topology", "hardware")],
    "mutually_exclusive": [("topology", "hardware")],
}


def main() -> None:
    """The documentation and the options of the action plugin of the same name, which does the work."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True, **RULES)
    module.fail_json(
        msg="The module memory_plan was run by itself; it plans nothing on a host. A task that calls blackwell.inference.memory_plan was expected, "
        "whose action plugin plans on the controller."
    )


if __name__ == "__main__":
    main()
