# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SGLang's sizing quirks by version, as data. Private to the collection, may change any time.

Read in the published wheels from 0.5.5 to `dialect.NEWEST`; "since 0.5.12" means: first seen in 0.5.12.
"""

from __future__ import annotations

from typing import Any

from ..core.units import GIB, MIB
from .architectures import EXTRA_BUFFER, MTP_COUNTED, SLIDING, VISION_TABLE
from .sizing_rules import BackendPages, GpuBracket, SizingRules, TrackSlots
from .version import EngineVersion

_NO_LIMIT_MIB = 1 << 40

# below MiB, chunked prefill, largest decode graph at tp < 4, at tp >= 4
_BRACKETS_SINCE_0_5_5 = (
    GpuBracket(20 * 1024, 2048, 8, 8),
    GpuBracket(35 * 1024, 2048, 24, 80),
    GpuBracket(60 * 1024, 4096, 32, 160),
    GpuBracket(90 * 1024, 8192, 256, 512),
    GpuBracket(160 * 1024, 8192, 256, 512),
    GpuBracket(_NO_LIMIT_MIB, 16384, 512, 512),
)
_BRACKETS_SINCE_0_5_20 = (
    _BRACKETS_SINCE_0_5_5[0],
    GpuBracket(35 * 1024, 4096, 48, 160),
    *_BRACKETS_SINCE_0_5_5[2:],
)
_BACKENDS_SINCE_0_5_5 = (
    BackendPages("trtllm_mla", (64, 32)),
    BackendPages("trtllm_mha", (64, 16, 32)),
    BackendPages("flashmla", (64,)),
    BackendPages("cutlass_mla", (128,)),
)
_BACKENDS_SINCE_0_5_17 = (
    _BACKENDS_SINCE_0_5_5[0],
    BackendPages("trtllm_mha", (64, 16, 32, 128)),
    *_BACKENDS_SINCE_0_5_5[2:],
)
_BACKENDS_SINCE_0_5_20 = _BACKENDS_SINCE_0_5_17[:3]  # cutlass_mla went

# field -> (first version, value), oldest first
SIZING_HISTORY: dict[str, tuple[tuple[str, Any], ...]] = {
    "gpu_brackets": (("0.5.5", _BRACKETS_SINCE_0_5_5), ("0.5.20", _BRACKETS_SINCE_0_5_20)),
    "backend_pages": (
        ("0.5.5", _BACKENDS_SINCE_0_5_5),
        ("0.5.17", _BACKENDS_SINCE_0_5_17),
        ("0.5.20", _BACKENDS_SINCE_0_5_20),
    ),
    # Layers and bytes of a token
    "stage_without_tokens": (("0.5.5", False), ("0.5.17", True)),
    "stage_remainder": (("0.5.5", "last"), ("0.5.6", "spread")),
    "value_dim_counted": (("0.5.5", False), ("0.5.7", True)),
    "fp4_count": (("0.5.5", "bytes"), ("0.5.6", "scales"), ("0.5.16", "workspace"), ("0.5.21", "method")),
    "latent_row_counted": (("0.5.5", False), ("0.5.17", True)),
    # Sliding-window hybrids
    "sliding_architectures": SLIDING,
    "sliding_split": (("0.5.5", "layers"), ("0.5.9", "bytes"), ("0.5.10", "bytes_of_pages"), ("0.5.11", "direct")),
    "sliding_counted": (("0.5.5", "kinds"), ("0.5.8", "full"), ("0.5.9", "kinds")),
    "sliding_counted_twice": (("0.5.5", ()), ("0.5.8", ("MiMoV2FlashForCausalLM",)), ("0.5.9", ())),
    "sliding_stage_overlap": (("0.5.5", True), ("0.5.21", False)),
    "sliding_request_cap": (("0.5.5", False), ("0.5.14", True)),
    "sliding_floor": (("0.5.5", False), ("0.5.16", True)),
    "indexed_groups_forced": (("0.5.5", True), ("0.5.6", False)),
    # State hybrids
    "state_budget": (
        ("0.5.5", "divided"),
        ("0.5.7", "reserved_by_ratio"),
        ("0.5.8", "reserved"),
        ("0.5.13", "joint"),
        ("0.5.17", "padded"),
    ),
    "state_explicit_with_radix": (("0.5.5", False), ("0.5.7", True)),
    "state_slots_without_radix": (("0.5.5", 512), ("0.5.9", 0)),
    "state_stage_layers": (("0.5.5", False), ("0.5.10", True)),
    "state_full_layers_of_stage": (("0.5.5", False), ("0.5.8", True)),
    "state_window_shared": (("0.5.5", False), ("0.5.14", True)),
    "state_dtype_of_config": (("0.5.5", False), ("0.5.9", True)),
    "state_with_drafts": (("0.5.5", "any"), ("0.5.7", "no_radix_cache"), ("0.5.10", "refused"), ("0.5.14", "any")),
    "extra_buffer_architectures": EXTRA_BUFFER,
    "state_track_slots": (
        ("0.5.5", TrackSlots(0, 0, 0, "speculation")),
        ("0.5.7", TrackSlots(2, 2, 1, "speculation")),
        ("0.5.8", TrackSlots(0, 2, 1, "speculation")),
        ("0.5.10", TrackSlots(0, 2, 1, "no_overlap")),
    ),
    # Drafts
    "draft_counted_from": (("0.5.5", "none"), ("0.5.14", "full"), ("0.5.15", "all")),
    "draft_cell": (("0.5.5", "scaled"), ("0.5.18", "scaled_but_indexer"), ("0.5.22", "added")),
    "draft_extra_tokens": (("0.5.5", True), ("0.5.7", False)),
    "draft_before_cut": (("0.5.5", True), ("0.5.9", False)),
    "draft_sliding_counted": (("0.5.5", False), ("0.5.19", True)),
    "mtp_counted": MTP_COUNTED,
    "dflash_count": (("0.5.5", "none"), ("0.5.11", "layers"), ("0.5.18", "geometry")),
    "stage_drafts_switch": (("0.5.5", ""), ("0.5.21", "SGLANG_ENABLE_PP_SPEC")),
    "dflash_groups_flag": (("0.5.5", ""), ("0.5.23", "enable-dp-lm-head")),
    "tree_page_backends": (
        ("0.5.5", ("flashinfer",)),
        ("0.5.6", ("flashinfer", "fa3")),
        ("0.5.13", ("flashinfer", "fa3", "triton")),
    ),
    # Device pool
    "vision_table_architectures": VISION_TABLE,
    "multimodal_reserve_bytes": (("0.5.5", 0), ("0.5.18", 100 * MIB)),
    "multimodal_transport_reserve_bytes": (("0.5.5", 0), ("0.5.18", 1024 * MIB)),
    "request_rows_before_cap": (("0.5.5", True), ("0.5.10", False)),
    "request_rows_extra": (("0.5.5", 0), ("0.5.12", 1)),
    "running_requests_per_group": (("0.5.5", False), ("0.5.10", True)),
    "group_requests_least": (("0.5.5", 0), ("0.5.23", 1)),
    "request_columns": (("0.5.5", "plain"), ("0.5.13", "tree"), ("0.5.16", "pages")),
    "running_requests_halved": (("0.5.5", False), ("0.5.10", True)),
    "running_requests_cap": (("0.5.5", "none"), ("0.5.10", "estimate"), ("0.5.14", "half_tokens")),
    "graph_batch_follows_running_requests": (("0.5.5", False), ("0.5.22", True)),
    "decode_batch_appended": (("0.5.5", False), ("0.5.10", True)),
    "prefill_graph_mla_bytes": (("0.5.5", 0), ("0.5.18", 1536 * MIB)),
    # The engine's own fraction
    "auto_speculation_mib": (("0.5.5", 2048), ("0.5.10", 4096), ("0.5.14", 0)),
    "auto_standalone_mib": (("0.5.5", 6144), ("0.5.14", 0)),
    "auto_prefill": (
        ("0.5.5", "none"),
        ("0.5.6", "quarter"),
        ("0.5.7", "eighth"),
        ("0.5.8", "fewer_sizes"),
        ("0.5.9", "sizes"),
        ("0.5.10", "kinds"),
    ),
    "auto_decode_backend": (("0.5.5", False), ("0.5.15", True)),
    # Host pool
    "hicache_ratio_default": (("0.5.5", 2.0),),
    "hicache_auto_fraction": (("0.5.5", None), ("0.5.21", 0.8)),
    "hicache_size_split": (("0.5.5", False), ("0.5.17", True)),
    "hicache_size_min_over_stages": (("0.5.5", False), ("0.5.15", True)),
    "hicache_sliding": (("0.5.5", False), ("0.5.13", True)),
    "hicache_state": (("0.5.5", False), ("0.5.10", True)),
    "hicache_state_layouts": (
        ("0.5.5", ("layer_first", "page_first", "page_first_direct")),
        ("0.5.14", ("page_first_direct",)),
        ("0.5.16", ("page_first", "page_first_direct")),
    ),
    "index_keys": (("0.5.5", "every"), ("0.5.18", "own_without_host_cache"), ("0.5.22", "own")),
    "hicache_index_keys": (("0.5.5", "none"), ("0.5.9", "row"), ("0.5.11", "pool")),
    "hicache_draft": (("0.5.5", "none"), ("0.5.11", "pool"), ("0.5.18", "packed")),
    "hicache_draft_exact": (("0.5.5", False), ("0.5.23", True)),
    "host_page_added": (("0.5.5", False), ("0.5.6", True)),
    "host_pools_shared": (("0.5.5", False), ("0.5.13", True)),
    "host_binding": (("0.5.5", ""), ("0.5.8", "preferred"), ("0.5.10", "bound")),
    "host_binding_asked": (("0.5.5", "preferred"), ("0.5.6", "bound")),
    "host_binding_switch": (("0.5.5", ""), ("0.5.18", "SGLANG_AUTO_NUMA_BIND")),
    "loader_threads": (("0.5.5", 1), ("0.5.10", 8)),
    "host_must_exceed_device": (("0.5.5", True), ("0.5.15", False)),
    "host_check_reserve_bytes": (("0.5.5", 10 * GIB),),
    "host_check_divides": (("0.5.5", False), ("0.5.19", True)),
    "host_check_knows_cgroup": (("0.5.5", False), ("0.5.21", True)),
    "hicache_layout_default": (("0.5.5", "layer_first"), ("0.5.14", "page_first")),
    "staging_pages": (("0.5.5", 0), ("0.5.14", 64)),
}


def sizing_rules(version: EngineVersion) -> SizingRules:
    """The rules of one version: of each quirk the youngest value that is not newer than it."""
    values = {field: _value_at(rows, version) for field, rows in SIZING_HISTORY.items()}
    return SizingRules(engine_version=version.text, **values)


def _value_at(rows: tuple[tuple[str, Any], ...], version: EngineVersion) -> Any:
    held = rows[0][1]
    for since, value in rows:
        if EngineVersion.parse(since) <= version:
            held = value
    return held
