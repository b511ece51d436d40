# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The dictionaries that planning takes. Planning itself checks them: it says more than Ansible, and takes no text for a number."""

from __future__ import annotations


class ModuleDocFragment:
    # What planning knows of a host and of an earlier start.
    DOCUMENTATION = r"""
options:
  hardware:
    description:
      - Hardware as data, for a host that nobody owns yet.
      - All sizes are in GiB (2^30 bytes). What is not required sharpens the plan.
    type: dict
    suboptions:
      gpus:
        description: Number of cards. 0 for a host without any.
        type: int
        required: true
      gpu_memory_gib:
        description: Whole memory of each card, C(memory.total) of nvidia-smi in GiB. Required if there are cards.
        type: float
      ram_gib:
        description: Memory of the host.
        type: float
        required: true
      gpu_name:
        description: Name of the cards, for example V(RTX PRO 6000). What does not run on them is known by it.
        type: str
      compute_capability:
        description: Compute capability of the cards, for example V(12.0). To be given for a card whose name is not known.
        type: str
      gpu_free_gib:
        description: Free memory of each card. By default it is estimated.
        type: float
      gpu_free_before_load_gib:
        description: Free memory of each card before the weights are loaded, as an engine logged it.
        type: float
      gpu_free_after_load_gib:
        description: Free memory of each card with the weights loaded, as an engine logged it.
        type: float
      ram_available_gib:
        description: What the kernel calls available of the host's memory. By default it is estimated.
        type: float
      cgroup_limit_gib:
        description: Memory limit of the control group or container. None by default.
        type: float
      memlock_gib:
        description: Limit of locked memory. None by default.
        type: float
      numa_nodes:
        description: Number of NUMA nodes. Each is taken to have the same memory, and the same number of cards in order.
        type: int
        default: 1
  calibration:
    description:
      - Measured figures of an earlier start, as M(blackwell.inference.server_verify) returns them or C(measured) of a profile has them. Each is optional.
      - What planning does not use is left aside.
    type: dict
    default: {}
    suboptions:
      free_before_load_bytes:
        description: Free GPU memory before the weights were loaded.
        type: int
      free_after_load_bytes:
        description: Free GPU memory with the weights loaded.
        type: int
      draft_weights_bytes:
        description: Weights of a draft model on a rank.
        type: int
      graph_bytes:
        description: Memory of the CUDA graphs.
        type: int
      prefill_graph:
        description: Whether O(calibration.graph_bytes) holds a prefill graph, if that version captures one.
        type: bool
        default: true
      graph_batch:
        description: Largest batch of the decode graphs in O(calibration.graph_bytes).
        type: int
      activation_bytes:
        description: What a prefill chunk takes while it is computed.
        type: int
      ranks:
        description: Number of ranks that the figures hold for. Without it they hold for any.
        type: int
      pp:
        description: Pipeline stages among which the ranks shared the weights.
        type: int
        default: 1
      dp:
        description: Groups of attention data parallelism among which the ranks shared the weights.
        type: int
        default: 1
      gpu_memory_total_bytes:
        description: Memory of the cards that the figures hold for. Without it they hold for any.
        type: int
      measured:
        description: Where and when, for the report.
        type: str
        default: an earlier start
      kind:
        description: V(measured) on this host, or V(profile) for figures of another host.
        type: str
        choices: [measured, profile]
        default: measured
  refuses:
    description: What the model's profile says does not run, or not well, as its C(refuses).
    type: list
    elements: dict
    default: []
    suboptions:
      when:
        description: When the row holds. All that is named must be so. What is not known of the hardware does not hold.
        type: dict
        required: true
        suboptions:
          compute_capability:
            description: Compute capability of a card, for example V(12.0).
            type: str
          kv_cache_dtype:
            description: Data type of the KV cache.
            type: str
          quantization:
            description: Quantisation of the checkpoint.
            type: str
          engine_below:
            description: A version of SGLang. The row holds for those before it.
            type: str
          ranks_below:
            description: A number of ranks. The row holds for fewer.
            type: int
          gpu_memory_gib_below:
            description: Memory of a card in GiB. The row holds for smaller cards.
            type: float
      why:
        description: The reason, as a sentence.
        type: str
        required: true
      level:
        description: V(refuse), which V(unsuited) in O(serving.force) overrides, or V(note).
        type: str
        choices: [refuse, note]
        default: refuse
"""

    # What an instance is asked to be.
    SERVING = r"""
options:
  serving:
    description:
      - What the operator wants of the instance. Most keys are named as SGLang's flags.
      - A key that is missing or null is not asked for, and planning or the engine decides.
      - Values are checked by their type, so a number in quotes is refused.
    type: dict
    default: {}
    suboptions:
      device:
        description: What the engine runs on.
        type: str
        choices: [cuda, cpu]
        default: cuda
      tp:
        description: Ranks of a pipeline stage.
        type: int
        default: 1
      pp:
        description: Pipeline stages.
        type: int
        default: 1
      dp:
        description: Groups of attention data parallelism inside O(serving.tp).
        type: int
        default: 1
      target:
        description: What the values that nobody fixed are chosen for.
        type: str
        choices: [latency, long_context, throughput]
        default: throughput
      mem_fraction_static:
        description: Fraction of free GPU memory for weights and pools, above 0 and below 1.
        type: float
      context_length:
        description: Longest context in tokens. By default what the model declares.
        type: int
      max_running_requests:
        description: Requests that run at once.
        type: int
      max_total_tokens:
        description: Most tokens of the pool. Required on a CPU.
        type: int
      chunked_prefill_size:
        description: Tokens of a prefill chunk. V(-1) turns chunking off.
        type: int
      max_prefill_tokens:
        description: Tokens of a prefill batch.
        type: int
      cuda_graph_max_bs:
        description: Largest batch of the decode graphs.
        type: int
      page_size:
        description: Tokens of a page. Some attention backends and sparse indexers replace it.
        type: int
      kv_cache_dtype:
        description: Data type of the KV cache, as far as the version has it.
        type: str
        choices: [auto, bfloat16, bf16, fp4_e2m1, fp4_mx_block16, fp8_e4m3, fp8_e5m2, mxfp8, nvfp4]
      hicache:
        description: Whether to have a KV cache in host memory. A size or a ratio says so too.
        type: bool
      hicache_size:
        description: Size of the host cache in GB (10^9 bytes) for each rank. Beats O(serving.hicache_ratio).
        type: int
      hicache_ratio:
        description: Size of the host cache as a multiple of the device's pool.
        type: float
      hicache_write_policy:
        description: When the host cache is written.
        type: str
        choices: [write_back, write_through, write_through_selective]
      hicache_io_backend:
        description: How pages are copied between device and host.
        type: str
        choices: [direct, kernel]
      hicache_mem_layout:
        description: How the host cache is laid out.
        type: str
        choices: [layer_first, page_first, page_first_direct]
      speculative_algorithm:
        description: How tokens are drafted. Without it no draft is loaded.
        type: str
        choices: [DFLASH, EAGLE, EAGLE3, NEXTN, NGRAM, STANDALONE]
      speculative_num_steps:
        description: Steps of drafting.
        type: int
      speculative_eagle_topk:
        description: Branches of a step.
        type: int
      speculative_num_draft_tokens:
        description: Tokens that are verified at once.
        type: int
      swa_full_tokens_ratio:
        description: Tokens of the sliding-window pool for each token of the full pool, above 0 and at most 1.
        type: float
      mamba_full_memory_ratio:
        description: Memory of the state pool for each byte of the KV cache.
        type: float
      max_mamba_cache_size:
        description: Requests whose states are kept.
        type: int
      mamba_ssm_dtype:
        description: Data type of a state.
        type: str
        choices: [bfloat16, float32]
      request_tokens:
        description: Length of a request in tokens, for the figure of concurrency.
        type: int
        default: 4000
      headroom_gib:
        description: GPU memory in GiB that must stay free after graph capture. By default, and at least, what a prefill chunk takes.
        type: float
      host_reserve_gib:
        description: Host memory in GiB that planning leaves alone.
        type: float
        default: 10
      disk_bytes_per_second:
        description: How fast weights are read, for the estimate of the start.
        type: float
        default: 2000000000
      force:
        description: Refusals to override. No other refusal can be, because the start would fail.
        type: list
        elements: str
        choices: [context_length, gpu_balance, headroom, host_memory, memlock, numa_node, unplanned_argument, unsuited]
        default: []
"""
