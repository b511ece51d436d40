# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the engine places a tensor over ranks, by its name. Private to the collection, may change any time.

Read in the engine's model classes (SGLang since 0.5.9): column- and row-parallel layers and the vocabulary are divided,
norms, routers, latent down-projections, indexers and gates of shared experts are whole on every rank, keys and values
follow their heads. Expert parallelism cuts other pieces of the same size: every rank holds 1 / tp of the experts either way.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .attention import Attention, GqaGeometry, HybridGeometry, SlidingGeometry
from .weight_shares import Share, WeightShares, run_lengths

_VISION = re.compile(
    r"(?:^|\.)(?:vision\w*|visual|audio\w*|multi_modal_projector|mm_projector|embed_vision|embed_audio|patch_embed\w*)\."
)
# What a vision tower divides: its attention, and the MLPs of the Qwen-VL towers. Kimi's MLPs and all projectors are whole.
_VISION_DIVIDED = re.compile(
    r"\.(?:wqkv|wo|qkv|q_proj|k_proj|v_proj|o_proj|out_proj|linear_fc[12]|gate_proj|up_proj|down_proj)\.|attn\.proj\."
)
_NUMBER = re.compile(r"\.\d+(?=\.)")
_LAYER = re.compile(r"(?:^|\.)(?:layers|h)\.(\d+)\.")
_MTP = re.compile(r"(?:^|\.)(?:mtp|mtp_layers|mtp_block|nextn)\.")
# The draft takes embedding and head from the served model.
_SHARED_WITH_TARGET = re.compile(r"embed_tokens|shared_head\.head|lm_head")
_EMBEDDING = re.compile(r"embed_tokens|(?:^|\.)(?:wte|embeddings|word_embeddings)\.")
_HEAD = re.compile(r"(?:^|\.)(?:lm_head|output_layer|embed_out)\.")
_REPLICATED = re.compile(
    r"norm|(?:^|\.)(?:gate|router)\.(?:weight|bias|e_score_correction_bias|scale)|(?:^|\.)e_score_correction_bias$"
    r"|shared_expert_gate|\.q_a_proj\.|\.kv_a_proj_with_mqa\.|\.fused_qkv_a_proj|\.indexer\.|\.fc[12]_latent_proj\."
    r"|\.[fg]_a_proj\.|(?:^|\.)rotary|position_embeddings"
)
_ATTENTION = re.compile(r"(?:self_attn|self_attention|attn|attention|linear_attn|mixer)\.")
_MIXER_MLP = re.compile(r"mixer\.(?:experts|shared_experts|up_proj|down_proj|gate_proj)")
_KV = re.compile(r"\.(?:k_proj|v_proj|kv_proj)\.")
_FUSED_QKV = re.compile(r"\.(?:qkv_proj|query_key_value|W_pack)\.")
# The engine keeps the up-projection of latents a second time, cut into the two halves that attention absorbs, in bfloat16.
_ABSORBED = re.compile(r"\.kv_b_proj\.weight(?:_packed)?$")
_BFLOAT16_BYTES_PER_BYTE = {"BF16": 1, "F16": 1, "F8_E4M3": 2, "F8_E5M2": 2, "I8": 2, "U8": 4, "I32": 4}


def is_replicated(tensor_name: str) -> bool:
    """Whether every rank holds the whole tensor."""
    if _VISION.search(tensor_name):
        return _VISION_DIVIDED.search(tensor_name) is None
    return _REPLICATED.search(tensor_name) is not None


@dataclass(frozen=True)
class _Placing:
    """`where`: layer, draft, first, last, every, or disk for what is not loaded; `how`: the field of a Share, or fused or absorbed."""

    where: str
    how: str
    head: bool = False


def shares_of(rows: Iterable[tuple[str, str, int]], layers: int, attention: Attention) -> WeightShares:
    """Rows are (name, safetensors dtype, bytes). Layers at and behind `layers` are for multi-token prediction."""
    placings: dict[
        str, _Placing
    ] = {}  # a checkpoint of 200,000 tensors has some 50 names that differ in more than numbers
    held: defaultdict[int | str, Counter[str]] = defaultdict(Counter)
    for name, dtype, size in rows:
        key = _NUMBER.sub(".0", name)
        placing = placings.get(key)
        if placing is None:
            placing = placings[key] = _placing(key)
        where: int | str = placing.where
        if where == "layer":
            found = _LAYER.search(name)
            number = int(found.group(1)) if found else 0
            where = number if number < layers else "disk" if _SHARED_WITH_TARGET.search(name) else "draft"
        for how, part in _parts(placing.how, dtype, size, _whole_keys(attention, where)):
            held[where][how] += part
    shares = {where: _share(parts, _whole_keys(attention, where)) for where, parts in held.items()}
    first = shares.get("first", Share())
    return WeightShares(
        layers=run_lengths(shares.get(layer, Share()) for layer in range(layers)),
        first=first,
        last=shares.get("last", Share()),
        every=shares.get("every", Share()),
        draft=shares.get("draft", Share()),
        tied=first.total_bytes > 0 and not any(placing.head for placing in placings.values()),
    )


def _placing(name: str) -> _Placing:
    if _VISION.search(name):
        return _Placing("every", "replicated_bytes" if is_replicated(name) else "tensor_bytes")
    if _MTP.search(name):
        return _Placing("disk" if _SHARED_WITH_TARGET.search(name) else "draft", _how(name))
    if _LAYER.search(name):
        return _Placing("layer", _how(name))
    if _HEAD.search(name):
        return _Placing("last", "tensor_bytes", head=True)
    return _Placing("first", "attention_bytes") if _EMBEDDING.search(name) else _Placing("last", _how(name))


def _how(name: str) -> str:
    if _REPLICATED.search(name):
        return "replicated_bytes"
    if not _ATTENTION.search(name) or _MIXER_MLP.search(name):
        return "tensor_bytes"
    others = ((_KV, "kv_bytes"), (_FUSED_QKV, "fused"), (_ABSORBED, "absorbed"))
    return next((how for pattern, how in others if pattern.search(name)), "attention_bytes")


def _parts(how: str, dtype: str, size: int, keys: GqaGeometry | None) -> tuple[tuple[str, int], ...]:
    if how == "absorbed":
        return (("attention_bytes", size * (1 + _BFLOAT16_BYTES_PER_BYTE.get(dtype, 1))),)
    if how == "fused" and keys is not None:
        kv = size * 2 * keys.kv_heads // (keys.heads + 2 * keys.kv_heads)
        return ("attention_bytes", size - kv), ("kv_bytes", kv)
    if how == "fused" or (how == "kv_bytes" and keys is None):
        return (("attention_bytes", size),)
    return ((how, size),)


def _whole_keys(attention: Attention, where: int | str) -> GqaGeometry | None:
    """Keys and values of the layer, where it keeps whole ones; what drafts has those of a full layer."""
    layer = where if isinstance(where, int) else None
    if isinstance(attention, SlidingGeometry):
        return attention.sliding if layer is not None and attention.pattern[layer] == "s" else attention.full
    if isinstance(attention, HybridGeometry):
        full = attention.full if layer is None or attention.pattern[layer] == "f" else None
        return full if isinstance(full, GqaGeometry) else None
    return attention if isinstance(attention, GqaGeometry) else None


def _share(parts: Mapping[str, int], keys: GqaGeometry | None) -> Share:
    return Share(**parts, kv_heads=keys.kv_heads if keys is not None and parts.get("kv_bytes") else 0)
