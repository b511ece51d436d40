# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a version of the engine does differently when it sizes its memory. Private to the collection, may change any time.

The values are made in `sglang/sizing_history.py` and handed to planning, which knows no version number.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GpuBracket:
    """Defaults that the engine picks for cards of less than `below_mib` by nvidia-smi's memory.total."""

    below_mib: int
    chunked_prefill_size: int
    graph_batch: int
    graph_batch_from_tp4: int


@dataclass(frozen=True)
class BackendPages:
    """Page sizes that an attention backend accepts; any other is replaced by the first."""

    backend: str
    page_sizes: tuple[int, ...]


@dataclass(frozen=True)
class TrackSlots:
    """State slots that a running request needs beyond its three: `plain` without an extra buffer; with one `double`, or `single` where
    the buffer is written once: when drafts are verified (`single_when` "speculation") or when batches do not overlap ("no_overlap").
    """

    plain: int
    double: int
    single: int
    single_when: str


@dataclass(frozen=True)
class SizingRules:
    """One version's sizing. Every field is a fact of that version, never a wish."""

    engine_version: str
    gpu_brackets: tuple[GpuBracket, ...]
    backend_pages: tuple[BackendPages, ...]
    # Layers and bytes of a token
    stage_without_tokens: bool  # a pipeline stage that keeps nothing of a token starts, else it divides by zero
    stage_remainder: (
        str  # where layers that do not divide by the stages go: "last" stage, or one each to the last ones, "spread"
    )
    value_dim_counted: bool  # values count their own dimension, not the keys'
    fp4_count: str  # what the profiler counts of 4-bit keys and values, see planning/device/layer_cost.py
    latent_row_counted: bool  # of sparse attention in fp8 the profiler counts the row that is really stored
    # Sliding-window hybrids
    sliding_architectures: tuple[str, ...]  # those whose sliding layers get a pool of their own
    sliding_split: (
        str  # "layers": all layers alike; "bytes": by bytes, in two steps, and "bytes_of_pages"; "direct": in one
    )
    sliding_counted: str  # the profiler's token: "kinds" each with its size, or "full": all layers as full ones
    sliding_counted_twice: tuple[str, ...]  # whose sliding layers are counted once more
    sliding_stage_overlap: bool  # a stage's sizes take in the first layer of the next stage
    sliding_request_cap: bool  # without a radix cache and with a number of requests: a pool for just those
    sliding_floor: bool  # a sliding pool within window + page ends the start
    index_keys: str  # layers with keys of a sparse indexer: "every", "own" (not those that reuse a choice), "own_without_host_cache"
    indexed_groups_forced: bool  # a sparse indexer makes every rank of tp an attention group of its own
    # State hybrids
    state_budget: str  # how the ratio shares out, see planning/device/state_pool.py
    state_explicit_with_radix: bool  # --max-mamba-cache-size counts beside a radix cache too
    state_slots_without_radix: int  # slots where neither they nor the requests are told; 0: by the ratio
    state_stage_layers: bool  # a stage keeps the states of its own layers, not of all
    state_full_layers_of_stage: bool  # a stage counts its own attending layers, not those of all
    state_window_shared: bool  # windows of one request's draft tokens overlap where drafts are a chain
    state_dtype_of_config: bool  # a checkpoint's own type of state counts where nobody asks for one
    state_with_drafts: str  # a radix cache without extra buffer, and drafts: "any", "no_radix_cache" or "refused"
    extra_buffer_architectures: tuple[str, ...]  # those that get an extra buffer by default
    state_track_slots: TrackSlots
    # Drafts
    draft_counted_from: str  # which pools make room for EAGLE's draft: "none", "full" (not sliding hybrids), "all"
    draft_cell: str  # EAGLE's room by "scaled" bytes, "scaled_but_indexer" (index keys apart), or "added"
    draft_extra_tokens: bool  # EAGLE adds tokens for drafts beyond the budget
    draft_before_cut: bool  # the draft's pool has as many tokens as fitted before sliding layers were split off
    draft_sliding_counted: bool  # the draft's own sliding layers count as such
    mtp_counted: tuple[str, ...]  # whose MTP layers are counted when no draft is named
    dflash_count: str  # "none", "layers": as if it were the target's, "geometry": its own bytes
    stage_drafts_switch: str  # the environment variable that lets EAGLE draft with several pipeline stages; "": never
    dflash_groups_flag: str  # the flag that DFLASH needs beside attention data parallelism; "": never together
    tree_page_backends: tuple[str, ...]  # attention backends that verify trees of drafts in pages of several tokens
    # Device pool
    vision_table_architectures: tuple[str, ...]  # whose vision tower's rotary table is lengthened to the context
    multimodal_reserve_bytes: int  # taken from the KV budget of a multimodal model
    multimodal_transport_reserve_bytes: int  # the same again with --mm-feature-transport cuda_ipc or cuda_vmm
    request_rows_before_cap: bool  # the default number of rows is reckoned before --max-total-tokens caps the pool
    request_rows_extra: int  # rows of the request table beyond max_running_requests
    running_requests_per_group: bool  # the table is for one attention group's share of --max-running-requests
    group_requests_least: int  # what a group lets run where there are fewer requests than groups; 0: no start
    request_columns: (
        str  # spare columns for drafts: "plain", "tree" (aligned to pages for trees), "pages" (for all drafts)
    )
    running_requests_halved: bool  # the table too is for at most tokens // 2 requests
    running_requests_cap: (
        str  # what an explicit value is cut to: "none", "estimate" (the default's value) or "half_tokens"
    )
    graph_batch_follows_running_requests: bool  # the default largest decode graph is at most --max-running-requests
    decode_batch_appended: bool  # the largest decode batch is captured even where the list of sizes has no place for it
    prefill_graph_mla_bytes: int  # the engine's own allowance for a captured prefill graph of an MLA model
    # The engine's own fraction
    auto_speculation_mib: int  # held back for EAGLE's draft
    auto_standalone_mib: int
    auto_prefill: str  # held back for a prefill graph, see planning/device/auto_fraction.py
    auto_decode_backend: bool  # no graphs for decoding: nothing held back for them
    # Host pool
    hicache_ratio_default: float
    hicache_auto_fraction: (
        float | None
    )  # of the host's memory, where the engine lowers the default ratio until its pools fit; None: never
    hicache_size_split: (
        bool  # --hicache-size is split over the pools of a hybrid by their device bytes, else each takes the whole
    )
    hicache_size_min_over_stages: (
        bool  # all pipeline stages take the tokens of the one that fits fewest into --hicache-size
    )
    hicache_sliding: bool  # sliding-window hybrids can have a host cache
    hicache_state: bool  # linear-attention and state-space hybrids can
    hicache_state_layouts: tuple[str, ...]  # layouts that a state pool accepts
    hicache_index_keys: (
        str  # of a sparse indexer: "none" (not kept), "row" (in the KV row) or "pool" (a pool of its own)
    )
    hicache_draft: str  # the draft's KV: "none" (not kept), "pool" (a pool of its own) or "packed" (an MTP layer's in the KV row, else a pool)
    hicache_draft_exact: bool  # the draft's pool has the slots of the target's, else one page more
    host_page_added: bool  # one page more than asked for, else whole pages rounded down
    host_pools_shared: bool  # pools are shared mappings, which count as Shmem
    host_binding: str  # where a rank's memory lies by default: "" (anywhere), "preferred" (its card's NUMA node first) or "bound" (there only)
    host_binding_asked: str  # the same where --numa-node is given
    host_binding_switch: str  # the environment variable that turns the default binding off; "" where there is none
    loader_threads: int  # shards that a rank reads at once
    host_must_exceed_device: bool  # the start dies unless the host pool holds more tokens than the device pool
    host_check_reserve_bytes: int  # what the engine's own check leaves alone
    host_check_divides: bool  # that check knows how many ranks share the host
    host_check_knows_cgroup: bool
    hicache_layout_default: str
    staging_pages: int  # GPU pages of staging for a page_first layout
