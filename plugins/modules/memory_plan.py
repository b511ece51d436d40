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
  - Ends with a sentence for each wish that cannot be met. Some of those refusals can be overridden with O(serving.force).
  - Suboptions are checked by planning and not by Ansible, so a number in quotes is refused. So is a key that planning does not know, but in O(calibration).
extends_documentation_fragment:
  - blackwell.inference.attributes
  - blackwell.inference.planning
  - blackwell.inference.planning.serving
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
  model:
    description: The model, as M(blackwell.inference.model_info) returns it.
    type: dict
    required: true
  draft_model:
    description: The checkpoint that drafts, as M(blackwell.inference.model_info) returns it, if it is one of its own.
    type: dict
  draft_model_path:
    description: Directory of O(draft_model) on the host.
    type: str
  engine_version:
    description: Version of SGLang.
    type: str
    required: true
  arguments:
    description:
      - Further engine flags by their names without dashes in front, as the planned version has them. A null takes a flag away.
      - What O(serving) or an option of its own says (address, port, paths) is refused here.
    type: dict
    default: {}
  environment:
    description:
      - Environment variables of the engine's process.
      - C(CUDA_VISIBLE_DEVICES) says which GPUs are planned for, by index or UUID. C(base-gpu-id) and C(gpu-id-step) in O(arguments) count among them.
    type: dict
    default: {}
  recorded:
    description:
      - What earlier runs left on the host, as C(records) of M(blackwell.inference.deployment_info).
      - While O(instance_running), the C(observation) of the recorded plan is used instead of today's free memory. If nothing else changed, the plan is
        the recorded one to the last byte.
      - A plan that differs anyway, or whose verification failed, takes the measured C(calibration) if that was measured with the same checkpoint, engine
        version, ranks and cards. It beats O(calibration).
      - A record that cannot be read is left aside with a warning.
    type: dict
    default: {}
    suboptions:
      plan:
        description: The plan.
        type: dict
      verdict:
        description: The verdict.
        type: dict
      calibration:
        description: The calibration.
        type: dict
  other_engines:
    description:
      - What other inference servers hold of the host's memory, as M(blackwell.inference.deployment_info) returns it.
    type: list
    elements: dict
    default: []
    suboptions:
      unit:
        description: Name of the unit.
        type: str
        required: true
      memory_bytes:
        description: Host memory that it holds.
        type: int
        required: true
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
  description:
    - The plan. The same input gives the same bytes, so it holds no time.
    - The first word of each C(source) says how the figure came to be. V(nvml), V(meminfo), V(cgroup), V(safetensors), V(profile),
      V(operator), V(measured), V(engine) (a constant of that version), V(plan) (computed) or V(estimate).
  type: dict
  returned: success
  contains: &plan
    schema: {type: int, returned: always, description: Version of this structure.}
    engine:
      description: The engine that is planned for.
      type: dict
      returned: always
      contains:
        version: {type: str, returned: always, description: Version of SGLang.}
        dialect: {type: str, returned: always, description: Version whose options and formulas hold for it.}
    device: {type: str, returned: always, description: V(cuda) or V(cpu).}
    ranks: {type: int, returned: always, description: "GPU worker processes, C(tp) x C(pp)."}
    parallel:
      description: How they share the model.
      type: dict
      returned: always
      contains:
        tp: {type: int, returned: always, description: Ranks of a pipeline stage.}
        pp: {type: int, returned: always, description: Pipeline stages.}
        dp: {type: int, returned: always, description: Groups of attention data parallelism inside C(tp).}
    model:
      description: The model.
      type: dict
      returned: always
      contains:
        name: {type: str, returned: always, description: Its name.}
        identity:
          description: Its checkpoint, as M(blackwell.inference.model_info) names it. Null from a profile.
          type: str
          returned: always
    speculation:
      description: How tokens are drafted. Null without speculation.
      type: dict
      returned: always
      contains:
        algorithm: {type: str, returned: always, description: The C(speculative_algorithm).}
        steps: {type: int, returned: always, description: Steps of drafting.}
        topk: {type: int, returned: always, description: Branches of a step.}
        draft_tokens: {type: int, returned: always, description: Tokens that are verified at once.}
        draft:
          description: The checkpoint that drafts. Null if the model's own MTP layers do.
          type: dict
          returned: always
          contains:
            name: {type: str, returned: always, description: Its name.}
            identity: {type: str, returned: always, description: Its checkpoint. Null from a profile.}
    gpu:
      description: Memory of the fullest card. Null on a CPU.
      type: dict
      returned: always
      contains:
        base_bytes:
          description: What C(mem_fraction_static) is a fraction of, the memory that is free before the weights are loaded.
          type: int
          returned: always
        tokens: {type: int, returned: always, description: "Tokens of the pool, as in C(plan.pool)."}
        cell_bytes: {type: int, returned: always, description: "Bytes of a token, as in C(plan.pool)."}
        kv_bytes: {type: int, returned: always, description: "Bytes of the pool, as in C(plan.pool)."}
        headroom_bytes: {type: int, returned: always, description: Memory that stays free after graph capture.}
        mem_fraction_static: {type: float, returned: always, description: The fraction.}
        max_running_requests: {type: int, returned: always, description: Requests that the engine lets run at once.}
        graph_batch: {type: int, returned: always, description: Largest batch of the decode graphs.}
        chunked_prefill_size: {type: int, returned: always, description: Tokens of a prefill chunk.}
        activations:
          description: What a prefill chunk takes of the headroom while it is computed.
          type: dict
          returned: always
          contains: &line
            name: {type: str, returned: always, description: Name of the line.}
            size_bytes: {type: int, returned: always, description: Its size.}
            source: {type: str, returned: always, description: How the figure came to be.}
        capacity:
          description: What there is.
          type: dict
          returned: always
          contains: *line
        lines:
          description: What is taken of it, in the order of the report.
          type: list
          elements: dict
          returned: always
          contains: *line
        cards: {type: list, elements: int, returned: always, description: Indices of the cards that are planned for.}
        headroom_wished_bytes:
          description: Memory that must stay free, C(headroom_gib) or what a prefill chunk takes.
          type: int
          returned: always
    host:
      description: Memory of the host.
      type: dict
      returned: always
      contains:
        capacity:
          description: What there is.
          type: dict
          returned: always
          contains: *line
        lines:
          description: What is taken of it, in the order of the report.
          type: list
          elements: dict
          returned: always
          contains: *line
        left_bytes: {type: int, returned: always, description: What is left.}
        reserve_bytes: {type: int, returned: always, description: "What has to be left, C(host_reserve_gib)."}
        available_after_start_bytes: {type: int, returned: always, description: What the kernel will call available once the server stands.}
        available_after_start_tolerance_bytes: {type: int, returned: always, description: How far off that may be.}
        free_h:
          description: What C(free -h) will show once the server stands, in GiB.
          type: dict
          returned: always
          contains:
            total_gib: {type: float, returned: always, description: All memory.}
            used_gib:
              description: All memory less what is available, as current versions of procps count.
              type: float
              returned: always
            shared_gib: {type: float, returned: always, description: Shared memory.}
            available_gib: {type: float, returned: always, description: Available memory.}
            tolerance_gib: {type: float, returned: always, description: How far off the figures may be.}
    host_cache:
      description: The hierarchical KV cache in host memory.
      type: dict
      returned: always
      contains:
        enabled: {type: bool, returned: always, description: Whether there is one.}
        tokens: {type: int, returned: always, description: "Tokens that it holds. 0 without one, as are the two figures that follow."}
        bytes_per_rank: {type: int, returned: always, description: Its size on the rank that takes most.}
        bytes_total: {type: int, returned: always, description: Its size on all ranks.}
        page_size: {type: int, returned: always, description: Tokens of a page.}
        size_gb:
          description: The size that the engine is told, in GB (10^9) for each rank. Null if it is told a ratio.
          type: int
          returned: always
        ratio: {type: float, returned: always, description: The ratio that the engine is told. Null if it is told a size.}
        size_gb_per_rank_that_fits:
          description: The largest size that would fit, in GB (10^9) for each rank.
          type: int
          returned: always
        pools:
          description: Its pools on the rank that takes most. Empty without one.
          type: list
          elements: dict
          returned: always
          contains:
            name: {type: str, returned: always, description: Name of the pool.}
            kind: {type: str, returned: always, description: As in C(plan.pools).}
            slots: {type: int, returned: always, description: "Tokens, or requests of states."}
            bytes: {type: int, returned: always, description: Its size.}
    pool:
      description: The KV cache of one rank, also on a CPU.
      type: dict
      returned: always
      contains:
        tokens: {type: int, returned: always, description: "Tokens as the engine logs them, of one group with attention data parallelism."}
        cell_bytes: {type: int, returned: always, description: Bytes of one token.}
        kv_bytes: {type: int, returned: always, description: Tokens x bytes of one token.}
    pools:
      description: All pools of one rank.
      type: list
      elements: dict
      returned: always
      contains:
        name: {type: str, returned: always, description: Name of the pool.}
        kind: {type: str, returned: always, description: "V(full), V(sliding), V(state), V(draft_state), V(indexer) or V(draft)."}
        slots: {type: int, returned: always, description: "Tokens, or requests of states."}
        slot_bytes: {type: int, returned: always, description: Bytes of a slot.}
        size_bytes: {type: int, returned: always, description: "Its size, padding included."}
    concurrency:
      description: How many requests fit at once.
      type: dict
      returned: always
      contains:
        request_tokens: {type: int, returned: always, description: "Tokens of a request, as asked for in C(request_tokens)."}
        requests: {type: int, returned: always, description: "Requests of that length that fit, in all groups."}
        max_running_requests: {type: int, returned: always, description: Requests that the engine lets run at once.}
    choices:
      description: Each value that was chosen.
      type: list
      elements: dict
      returned: always
      contains:
        name: {type: str, returned: always, description: Name in O(serving).}
        value: {type: raw, returned: always, description: The value.}
        by: {type: str, returned: always, description: "Who chose it, V(operator) (or the profile), V(plan) or V(engine)."}
        why: {type: str, returned: always, description: Why.}
        costs: {type: str, returned: always, description: What it costs.}
    start:
      description: How long the start will take.
      type: dict
      returned: always
      contains:
        weights_bytes: {type: int, returned: always, description: Bytes to load.}
        load_seconds: {type: int, returned: always, description: Seconds to load them.}
        pin_seconds: {type: int, returned: always, description: Seconds to pin the host cache.}
        other_seconds: {type: int, returned: always, description: Seconds for all else.}
        shards: {type: int, returned: always, description: Weight files.}
        estimate_seconds: {type: int, returned: always, description: Seconds in all.}
        timeout_seconds: {type: int, returned: always, description: After how many seconds systemd gives the start up.}
    arguments: {type: dict, returned: always, description: "Every engine flag, by its name without dashes in front."}
    refusals:
      description: The refusals that were forced.
      type: list
      elements: dict
      returned: always
      contains:
        name: {type: str, returned: always, description: Name of the refusal.}
        message: {type: str, returned: always, description: The sentence.}
        overridable: {type: bool, returned: always, description: Whether C(force) overrides it.}
    forced: {type: list, elements: str, returned: always, description: Names of the refusals that were forced.}
    notes: {type: list, elements: str, returned: always, description: "What is worth knowing, as sentences."}
    calibration:
      description: Figures of an earlier start of this instance that the plan stands on, each for one rank. Null without such.
      type: dict
      returned: always
      contains:
        free_before_load_bytes: {type: int, returned: always, description: As O(calibration.free_before_load_bytes).}
        free_after_load_bytes: {type: int, returned: always, description: As O(calibration.free_after_load_bytes).}
        draft_weights_bytes: {type: int, returned: always, description: As O(calibration.draft_weights_bytes).}
        graph_bytes: {type: int, returned: always, description: As O(calibration.graph_bytes).}
        prefill_graph: {type: bool, returned: always, description: As O(calibration.prefill_graph).}
        graph_batch: {type: int, returned: always, description: As O(calibration.graph_batch).}
        activation_bytes: {type: int, returned: always, description: As O(calibration.activation_bytes).}
        ranks: {type: int, returned: always, description: As O(calibration.ranks).}
        pp: {type: int, returned: always, description: As O(calibration.pp).}
        dp: {type: int, returned: always, description: As O(calibration.dp).}
        gpu_memory_total_bytes: {type: int, returned: always, description: As O(calibration.gpu_memory_total_bytes).}
        measured: {type: str, returned: always, description: As O(calibration.measured).}
        kind: {type: str, returned: always, description: As O(calibration.kind).}
    observation:
      description: The host that the plan stands on, as it was before the instance started.
      type: dict
      returned: always
      contains:
        gpus:
          description: The cards.
          type: list
          elements: dict
          returned: always
          contains:
            index: {type: int, returned: always, description: "NVML's number of the card."}
            uuid: {type: str, returned: always, description: "Its UUID, or its PCI address if it is lost."}
            state: {type: str, returned: always, description: "Its state, V(ok) if it can be used."}
            total_bytes: {type: int, returned: always, description: Its memory.}
            free_bytes: {type: int, returned: always, description: Its free memory. Null if nobody saw it.}
            source: {type: str, returned: always, description: How that figure came to be.}
            numa_node: {type: int, returned: always, description: "Its NUMA node. Null if there is none, or if it is not known."}
        memory:
          description: Memory of the host.
          type: dict
          returned: always
          contains:
            total_bytes: {type: int, returned: always, description: All of it.}
            available_bytes: {type: int, returned: always, description: What the kernel called available.}
            source: {type: str, returned: always, description: How that figure came to be.}
            zfs_arc_bytes: {type: int, returned: always, description: What the ZFS cache held.}
            zfs_arc_min_bytes: {type: int, returned: always, description: What the ZFS cache shrinks to at most.}
            huge_pages_bytes: {type: int, returned: always, description: "Reserved huge pages, no part of what is available."}
            shared_bytes: {type: int, returned: always, description: Shared memory.}
            numa_nodes:
              description: NUMA nodes. Empty if there is one alone.
              type: list
              elements: dict
              returned: always
              contains:
                node: {type: int, returned: always, description: Number of the node.}
                total_bytes: {type: int, returned: always, description: Its memory.}
        cgroup:
          description: The memory limit that binds.
          type: dict
          returned: always
          contains:
            limit_bytes: {type: int, returned: always, description: The limit. Null without one.}
            headroom_bytes: {type: int, returned: always, description: What it still allowed. Null without one.}
        memlock_bytes: {type: int, returned: always, description: Limit of locked memory. Null if unlimited.}
        free_before_load_bytes: {type: int, returned: always, description: The O(hardware.gpu_free_before_load_gib). Null without it.}
        free_after_load_bytes: {type: int, returned: always, description: The O(hardware.gpu_free_after_load_gib). Null without it.}
        other_engines:
          description: Other inference servers, as O(other_engines).
          type: list
          elements: dict
          returned: always
          contains:
            unit: {type: str, returned: always, description: Name of the unit.}
            memory_bytes: {type: int, returned: always, description: Host memory that it holds.}
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
  type: list
  elements: str
  returned: success, and on a refusal after which figures still mean something
  sample: ["Pool: 159,294 tokens on each rank, enough for 39 requests of 4,000 tokens at once"]
plan_text:
  description: The same as one text.
  type: str
  returned: success
  sample: "Pool: 159,294 tokens on each rank, enough for 39 requests of 4,000 tokens at once\n"
plan_html:
  description: The same as one HTML page with pictures, which needs nothing from anywhere. The page of a refused plan says so first.
  type: str
  returned: success, and on a refusal after which figures still mean something
  sample: "<!DOCTYPE html>"
refusals:
  description: What was refused. An option of the wrong shape is refused as V(input).
  type: list
  elements: dict
  returned: on a refusal
  contains:
    name:
      description: Name of the refusal, one of those that C(force) in O(serving) takes, or one that means that the start would fail.
      type: str
      returned: always
    message: {type: str, returned: always, description: The sentence.}
    overridable: {type: bool, returned: always, description: Whether C(force) overrides it.}
  sample:
    - {name: headroom, message: mem_fraction_static 0.93 leaves 0.83 GiB free, overridable: true}
refused_plan:
  description: The plan that was refused, with the same keys as RV(plan).
  type: dict
  returned: on a refusal after which figures still mean something
  contains: *plan
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
