# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a version of the engine does differently when it sizes its memory. Private to the collection, may change any time.

Read in the published wheels from 0.5.5 to `dialect.NEWEST`; "0.5.12" means: first seen in 0.5.12. `dialect.sizing_rules` makes the rules of one version
for planning, which knows no version number. A quirk of a version is one line here: its field, what the field means, and since when.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..core.units import GIB, MIB
from .architectures import EXTRA_BUFFER, MTP_COUNTED, SLIDING, VISION_TABLE
from .sizing_history import began, ended, from_rows, history


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
    single_when: Literal["speculation", "no_overlap"]


Fp4Count = Literal["bytes", "scales", "workspace", "method"]
StateSharing = Literal["divided", "reserved_by_ratio", "reserved", "joint", "padded"]
SlidingSplit = Literal["layers", "bytes", "bytes_of_pages", "direct"]
PrefillHold = Literal["none", "quarter", "eighth", "fewer_sizes", "sizes", "kinds"]
Binding = Literal["", "preferred", "bound"]
RequestsCap = Literal["none", "estimate", "half_tokens"]

_BRACKETS = (
    GpuBracket(20 * 1024, 2048, 8, 8),
    GpuBracket(35 * 1024, 2048, 24, 80),
    GpuBracket(60 * 1024, 4096, 32, 160),
    GpuBracket(90 * 1024, 8192, 256, 512),
    GpuBracket(160 * 1024, 8192, 256, 512),
    GpuBracket(1 << 40, 16384, 512, 512),  # no limit
)
_BRACKETS_0_5_20 = (_BRACKETS[0], GpuBracket(35 * 1024, 4096, 48, 160), *_BRACKETS[2:])
_MHA, _MLA = BackendPages("trtllm_mha", (64, 16, 32)), BackendPages("trtllm_mla", (64, 32))
_FLASH, _CUTLASS = BackendPages("flashmla", (64,)), BackendPages("cutlass_mla", (128,))
_MHA_0_5_17 = BackendPages("trtllm_mha", (64, 16, 32, 128))


@dataclass(frozen=True)
class SizingRules:
    """One version's sizing. Every field is a fact of that version, never a wish."""

    engine_version: str
    gpu_brackets: tuple[GpuBracket, ...] = history(_BRACKETS, ("0.5.20", _BRACKETS_0_5_20))
    backend_pages: tuple[BackendPages, ...] = history(
        (_MLA, _MHA, _FLASH, _CUTLASS),
        ("0.5.17", (_MLA, _MHA_0_5_17, _FLASH, _CUTLASS)),
        ("0.5.20", (_MLA, _MHA_0_5_17, _FLASH)),
    )

    # --- Layers and bytes of a token
    # A pipeline stage that keeps nothing of a token starts, else it divides by zero
    stage_without_tokens: bool = began("0.5.17")
    # Where layers that do not divide by the stages go: "last" stage, or one each to the last ones, "spread"
    stage_remainder: Literal["last", "spread"] = history("last", ("0.5.6", "spread"))
    value_dim_counted: bool = began("0.5.7")  # values count their own dimension, not the keys'
    # What the profiler counts of 4-bit keys and values, see planning/device/token_cost.py
    fp4_count: Fp4Count = history("bytes", ("0.5.6", "scales"), ("0.5.16", "workspace"), ("0.5.21", "method"))
    # Of sparse attention in fp8 the profiler counts the row that is really stored
    latent_row_counted: bool = began("0.5.17")

    # --- Sliding-window hybrids
    sliding_architectures: tuple[str, ...] = from_rows(SLIDING)  # those whose sliding layers get a pool of their own
    # "layers": all layers alike; "bytes": by bytes, in two steps, and "bytes_of_pages"; "direct": in one
    sliding_split: SlidingSplit = history(
        "layers", ("0.5.9", "bytes"), ("0.5.10", "bytes_of_pages"), ("0.5.11", "direct")
    )
    # The profiler's token: "kinds" each with its size, or "full": all layers as full ones
    sliding_counted: Literal["kinds", "full"] = history("kinds", ("0.5.8", "full"), ("0.5.9", "kinds"))
    # Whose sliding layers are counted once more
    sliding_counted_twice: tuple[str, ...] = history((), ("0.5.8", ("MiMoV2FlashForCausalLM",)), ("0.5.9", ()))
    sliding_stage_overlap: bool = ended("0.5.21")  # a stage's sizes take in the first layer of the next stage
    # Without a radix cache and with a number of requests: a pool for just those
    sliding_request_cap: bool = began("0.5.14")
    sliding_floor: bool = began("0.5.16")  # a sliding pool within window + page ends the start
    # Layers with keys of a sparse indexer: "every", "own" (not those that reuse a choice), "own_without_host_cache"
    index_keys: Literal["every", "own_without_host_cache", "own"] = history(
        "every", ("0.5.18", "own_without_host_cache"), ("0.5.22", "own")
    )
    # A sparse indexer makes every rank of tp an attention group of its own
    indexed_groups_forced: bool = ended("0.5.6")

    # --- State hybrids
    # How the ratio shares out, see planning/device/state_pools.py
    state_budget: StateSharing = history(
        "divided", ("0.5.7", "reserved_by_ratio"), ("0.5.8", "reserved"), ("0.5.13", "joint"), ("0.5.17", "padded")
    )
    state_explicit_with_radix: bool = began("0.5.7")  # --max-mamba-cache-size counts beside a radix cache too
    # Slots where neither they nor the requests are told; 0: by the ratio
    state_slots_without_radix: int = history(512, ("0.5.9", 0))
    state_stage_layers: bool = began("0.5.10")  # a stage keeps the states of its own layers, not of all
    state_full_layers_of_stage: bool = began("0.5.8")  # a stage counts its own attending layers, not those of all
    # Windows of one request's draft tokens overlap where drafts are a chain
    state_window_shared: bool = began("0.5.14")
    state_dtype_of_config: bool = began("0.5.9")  # a checkpoint's own type of state counts where nobody asks for one
    # A radix cache without extra buffer, and drafts: "any", "no_radix_cache" or "refused"
    state_with_drafts: Literal["any", "no_radix_cache", "refused"] = history(
        "any", ("0.5.7", "no_radix_cache"), ("0.5.10", "refused"), ("0.5.14", "any")
    )
    extra_buffer_architectures: tuple[str, ...] = from_rows(EXTRA_BUFFER)  # those that get an extra buffer by default
    state_track_slots: TrackSlots = history(
        TrackSlots(0, 0, 0, "speculation"),
        ("0.5.7", TrackSlots(2, 2, 1, "speculation")),
        ("0.5.8", TrackSlots(0, 2, 1, "speculation")),
        ("0.5.10", TrackSlots(0, 2, 1, "no_overlap")),
    )

    # --- Drafts
    # Which pools make room for EAGLE's draft: "none", "full" (not sliding hybrids), "all"
    draft_counted_from: Literal["none", "full", "all"] = history("none", ("0.5.14", "full"), ("0.5.15", "all"))
    # EAGLE's room by "scaled" bytes, "scaled_but_indexer" (index keys apart), or "added"
    draft_cell: Literal["scaled", "scaled_but_indexer", "added"] = history(
        "scaled", ("0.5.18", "scaled_but_indexer"), ("0.5.22", "added")
    )
    draft_extra_tokens: bool = ended("0.5.7")  # EAGLE adds tokens for drafts beyond the budget
    # The draft's pool has as many tokens as fitted before sliding layers were split off
    draft_before_cut: bool = ended("0.5.9")
    draft_sliding_counted: bool = began("0.5.19")  # the draft's own sliding layers count as such
    mtp_counted: tuple[str, ...] = from_rows(MTP_COUNTED)  # whose MTP layers are counted when no draft is named
    # "none", "layers": as if it were the target's, "geometry": its own bytes
    dflash_count: Literal["none", "layers", "geometry"] = history("none", ("0.5.11", "layers"), ("0.5.18", "geometry"))
    # The environment variable that lets EAGLE draft with several pipeline stages; "": never
    stage_drafts_switch: str = history("", ("0.5.21", "SGLANG_ENABLE_PP_SPEC"))
    # The flag that DFLASH needs beside attention data parallelism; "": never together
    dflash_groups_flag: str = history("", ("0.5.23", "enable-dp-lm-head"))
    # Attention backends that verify trees of drafts in pages of several tokens
    tree_page_backends: tuple[str, ...] = history(
        ("flashinfer",), ("0.5.6", ("flashinfer", "fa3")), ("0.5.13", ("flashinfer", "fa3", "triton"))
    )

    # --- Device pool
    # Whose vision tower's rotary table is lengthened to the context
    vision_table_architectures: tuple[str, ...] = from_rows(VISION_TABLE)
    # Taken from the KV budget of a multimodal model
    multimodal_reserve_bytes: int = history(0, ("0.5.18", 100 * MIB))
    # The same again with --mm-feature-transport cuda_ipc or cuda_vmm
    multimodal_transport_reserve_bytes: int = history(0, ("0.5.18", 1024 * MIB))
    # The default number of rows is reckoned before --max-total-tokens caps the pool
    request_rows_before_cap: bool = ended("0.5.10")
    request_rows_extra: int = history(0, ("0.5.12", 1))  # rows of the request table beyond max_running_requests
    # The table is for one attention group's share of --max-running-requests
    running_requests_per_group: bool = began("0.5.10")
    # What a group lets run where there are fewer requests than groups; 0: no start
    group_requests_least: int = history(0, ("0.5.23", 1))
    # Spare columns for drafts: "plain", "tree" (aligned to pages for trees), "pages" (for all drafts)
    request_columns: Literal["plain", "tree", "pages"] = history("plain", ("0.5.13", "tree"), ("0.5.16", "pages"))
    running_requests_halved: bool = began("0.5.10")  # the table too is for at most tokens // 2 requests
    # What an explicit value is cut to: "none", "estimate" (the default's value) or "half_tokens"
    running_requests_cap: RequestsCap = history("none", ("0.5.10", "estimate"), ("0.5.14", "half_tokens"))
    # The default largest decode graph is at most --max-running-requests
    graph_batch_follows_running_requests: bool = began("0.5.22")
    # The largest decode batch is captured even where the list of sizes has no place for it
    decode_batch_appended: bool = began("0.5.10")
    # The engine's own allowance for a captured prefill graph of an MLA model
    prefill_graph_mla_bytes: int = history(0, ("0.5.18", 1536 * MIB))

    # --- The engine's own fraction
    auto_speculation_mib: int = history(2048, ("0.5.10", 4096), ("0.5.14", 0))  # held back for EAGLE's draft
    auto_standalone_mib: int = history(6144, ("0.5.14", 0))
    # Held back for a prefill graph, see planning/device/auto_fraction.py
    auto_prefill: PrefillHold = history(
        "none",
        ("0.5.6", "quarter"),
        ("0.5.7", "eighth"),
        ("0.5.8", "fewer_sizes"),
        ("0.5.9", "sizes"),
        ("0.5.10", "kinds"),
    )
    auto_decode_backend: bool = began("0.5.15")  # no graphs for decoding: nothing held back for them

    # --- Host pool
    hicache_ratio_default: float = history(2.0)
    # Of the host's memory, where the engine lowers the default ratio until its pools fit; None: never
    hicache_auto_fraction: float | None = history(None, ("0.5.21", 0.8))
    # --hicache-size is split over the pools of a hybrid by their device bytes, else each takes the whole
    hicache_size_split: bool = began("0.5.17")
    # All pipeline stages take the tokens of the one that fits fewest into --hicache-size
    hicache_size_min_over_stages: bool = began("0.5.15")
    hicache_sliding: bool = began("0.5.13")  # sliding-window hybrids can have a host cache
    hicache_state: bool = began("0.5.10")  # linear-attention and state-space hybrids can
    # Layouts that a state pool accepts
    hicache_state_layouts: tuple[str, ...] = history(
        ("layer_first", "page_first", "page_first_direct"),
        ("0.5.14", ("page_first_direct",)),
        ("0.5.16", ("page_first", "page_first_direct")),
    )
    # Of a sparse indexer: "none" (not kept), "row" (in the KV row) or "pool" (a pool of its own)
    hicache_index_keys: Literal["none", "row", "pool"] = history("none", ("0.5.9", "row"), ("0.5.11", "pool"))
    # The draft's KV: "none" (not kept), "pool" (a pool of its own) or "packed" (an MTP layer's in the KV row, else a pool)
    hicache_draft: Literal["none", "pool", "packed"] = history("none", ("0.5.11", "pool"), ("0.5.18", "packed"))
    hicache_draft_exact: bool = began("0.5.23")  # the draft's pool has the slots of the target's, else one page more
    host_page_added: bool = began("0.5.6")  # one page more than asked for, else whole pages rounded down
    host_pools_shared: bool = began("0.5.13")  # pools are shared mappings, which count as Shmem
    # Where a rank's memory lies by default: "" (anywhere), "preferred" (its card's NUMA node first) or "bound" (there only)
    host_binding: Binding = history("", ("0.5.8", "preferred"), ("0.5.10", "bound"))
    # The same where --numa-node is given
    host_binding_asked: Binding = history("preferred", ("0.5.6", "bound"))
    # The environment variable that turns the default binding off; "" where there is none
    host_binding_switch: str = history("", ("0.5.18", "SGLANG_AUTO_NUMA_BIND"))
    loader_threads: int = history(1, ("0.5.10", 8))  # shards that a rank reads at once
    # The start dies unless the host pool holds more tokens than the device pool
    host_must_exceed_device: bool = ended("0.5.15")
    host_check_reserve_bytes: int = history(10 * GIB)  # what the engine's own check leaves alone
    host_check_divides: bool = began("0.5.19")  # that check knows how many ranks share the host
    host_check_knows_cgroup: bool = began("0.5.21")
    hicache_layout_default: Literal["layer_first", "page_first"] = history("layer_first", ("0.5.14", "page_first"))
    staging_pages: int = history(0, ("0.5.14", 64))  # GPU pages of staging for a page_first layout
