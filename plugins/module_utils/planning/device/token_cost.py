# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a token costs in the layers of one rank: as the engine's profiler counts it, and as it is stored. Private to the collection, may change any time.

The two differ where the profiler is behind the pools: then the pools are larger or smaller than their budget.
"""

from __future__ import annotations

from ...model.attention import Geometry, GqaGeometry, MlaGeometry
from ...sglang.sizing_rules import Fp4Count, SizingRules

FP4 = ("fp4_e2m1", "fp4_mx_block16", "nvfp4")
_WIDE = ("bfloat16", "float16")
_FP4_BLOCK = 16  # values that share a scale of one byte
_MXFP8_BLOCK = 32
_INDEX_BLOCK = 128  # index keys that share a scale of four bytes; of latents the same
_SCALE_BYTES = 4


def element_bytes(kv_cache_dtype: str) -> int:
    """The engine's element size of the cache's data type; a pair of 4-bit values is one element, and of MXFP8 the scales come on top."""
    return 2 if kv_cache_dtype in _WIDE else 1


def kv_heads(geometry: GqaGeometry, attention_tp: int) -> int:
    """Heads of keys and values on one rank: its share, or one whole head where there are fewer heads than ranks."""
    return max(1, geometry.kv_heads // attention_tp)


def indexer_bytes(geometry: Geometry) -> int:
    """Bytes of one token's index key in one layer: int8 and a scale of 4 bytes for each 128 of them; 132 for 128. 0 without an indexer.

    SGLang since 0.5.5. Which layers keep one: `layer_pools.layers_without_index_keys`.
    """
    dim = geometry.index_head_dim if isinstance(geometry, MlaGeometry) else None
    return dim + dim // _INDEX_BLOCK * _SCALE_BYTES if dim else 0


def stored_latent(geometry: MlaGeometry, kv_cache_dtype: str, raw_rows: bool) -> int:
    """Elements of one token's latent row as it is stored.

    Sparse attention keeps fp8_e4m3 latents with a scale of 4 bytes for each 128 and the rope key in bf16: 512 + 16 + 128 = 656; `raw_rows`
    (its trtllm and tilelang backends) keep 576.
    """
    plain = geometry.kv_lora_rank + geometry.qk_rope_head_dim
    if geometry.index_head_dim is None or kv_cache_dtype != "fp8_e4m3" or raw_rows:
        return plain
    return (
        geometry.kv_lora_rank
        + geometry.kv_lora_rank // _INDEX_BLOCK * _SCALE_BYTES
        + geometry.qk_rope_head_dim * element_bytes("bfloat16")
    )


def counted_bytes(
    geometry: Geometry, layers: int, attention_tp: int, kv_cache_dtype: str, rules: SizingRules, raw_rows: bool = False
) -> int:
    """Bytes of one token in these layers of one rank as the profiler counts them, index keys included.

    SGLang since 0.5.5: `profile_max_num_token`, `get_cell_size_per_token`, `DefaultPoolConfigurator`. Kimi-K2.5, bf16: (512 + 64) * 61 * 2 = 70,272.
    """
    size = element_bytes(kv_cache_dtype)
    if isinstance(geometry, MlaGeometry):
        plain = geometry.kv_lora_rank + geometry.qk_rope_head_dim
        row = stored_latent(geometry, kv_cache_dtype, raw_rows) if rules.latent_row_counted else plain
        counted = row * layers * size
        if kv_cache_dtype in FP4:
            counted = counted // 2 + plain // _FP4_BLOCK * layers
        return counted + indexer_bytes(geometry) * layers
    heads = kv_heads(geometry, attention_tp)
    values = geometry.v_head_dim if rules.value_dim_counted else geometry.head_dim
    counted = heads * (geometry.head_dim + values) * layers * size
    if kv_cache_dtype in FP4:
        return _counted_fp4(geometry, heads, layers, kv_cache_dtype, counted, rules.fp4_count)
    if kv_cache_dtype == "mxfp8":
        counted += heads * (geometry.head_dim + values) * layers // _MXFP8_BLOCK
    return counted


def _counted_fp4(
    geometry: GqaGeometry, heads: int, layers: int, kv_cache_dtype: str, unpacked: int, count: Fp4Count
) -> int:
    """4-bit keys and values: "bytes" as if each took one (0.5.5), "scales" halved and scaled, "workspace" with one layer of fp8 to
    unpack to (0.5.16), "method" as the recipe says (0.5.21: only nvfp4 unpacks, on cards of sm_120 with one set of scales).
    """
    if count == "bytes":
        return unpacked
    workspace = heads * geometry.head_dim * 2
    if count == "method":
        return _packed_fp4(geometry, heads, kv_cache_dtype) * layers + (workspace if kv_cache_dtype == "nvfp4" else 0)
    packed = unpacked // 2 + heads * geometry.head_dim * layers * 2 // _FP4_BLOCK
    return packed + workspace if count == "workspace" else packed


def _packed_fp4(geometry: GqaGeometry, heads: int, kv_cache_dtype: str) -> int:
    if kv_cache_dtype == "nvfp4":
        scales = heads * (geometry.head_dim // _FP4_BLOCK)
    else:
        scales = heads * geometry.head_dim // _FP4_BLOCK
    return 2 * (heads * (geometry.head_dim // 2) + scales)


def stored_bytes(
    geometry: Geometry, layers: int, attention_tp: int, kv_cache_dtype: str, raw_rows: bool = False
) -> int:
    """Bytes of one token in these layers of one rank as they are stored, without index keys. SGLang since 0.5.5."""
    size = element_bytes(kv_cache_dtype)
    if isinstance(geometry, MlaGeometry):
        row = stored_latent(geometry, kv_cache_dtype, raw_rows)
        return (row // 2 + row // _FP4_BLOCK) * layers if kv_cache_dtype in FP4 else row * layers * size
    heads = kv_heads(geometry, attention_tp)
    if kv_cache_dtype in FP4:
        unpacking = heads * geometry.head_dim * 2 if kv_cache_dtype == "nvfp4" else 0
        return _packed_fp4(geometry, heads, kv_cache_dtype) * layers + unpacking
    width = heads * (geometry.head_dim + geometry.v_head_dim)
    return width * layers * size + (width * layers // _MXFP8_BLOCK if kv_cache_dtype == "mxfp8" else 0)
