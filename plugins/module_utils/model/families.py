# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From config.json to the geometry of attention, by family. Private to the collection, may change any time.

A family is known by the architecture where the engine goes by that, else by the keys that only its checkpoints have. Read in
SGLang since 0.5.5 (its model and configuration classes). docs/models.md lists the families and what is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Callable

from ..core.fields import Fields
from .attention import Attention, GqaGeometry, MlaGeometry, OtherAttention
from .hybrid_families import hybrid_reader, sliding_reader
from .keys import MAX_HEADS, gqa_of, heads_of, listed_layers

_MAX_FREQUENCY = 100_000


def index_pattern_of(text: Fields, layers: int) -> str | None:
    """One letter a layer, k for own index keys and r for those of an earlier layer; None where every layer keeps its own.

    The engine looks at indexer_types, then index_topk_pattern, then index_topk_freq with index_skip_topk_offset (SGLang
    since 0.5.18). GLM-5.2: 21 of 78 layers keep keys.
    """
    if text.has("indexer_types"):
        reuses = [kind == "shared" for kind in listed_layers(text, "indexer_types", layers)]
    elif text.has("index_topk_pattern"):
        reuses = [kind == "S" for kind in listed_layers(text, "index_topk_pattern", layers)]
    else:
        frequency = text.optional_whole("index_topk_freq", 1, _MAX_FREQUENCY) or 1
        first = (text.optional_whole("index_skip_topk_offset", 1, _MAX_FREQUENCY) or 2) - 1
        reuses = [max(layer - first, 0) % frequency != 0 for layer in range(layers)]
    return "".join("r" if reuse else "k" for reuse in reuses) if any(reuses) else None


# Architectures whose latent attention the engine serves from one pool of latents. A checkpoint with kv_lora_rank and
# another name is served with whole keys and values, or in a way of its own.
_MLA = (
    "DeepseekV2ForCausalLM",
    "DeepseekV3ForCausalLM",
    "DeepseekV32ForCausalLM",
    "DeepseekVL2ForCausalLM",
    "DotsVLMForCausalLM",
    "Eagle3DeepseekV2ForCausalLM",
    "GigaChat35ForCausalLM",
    "Glm4MoeLiteForCausalLM",
    "GlmMoeDsaForCausalLM",
    "KimiK25ForConditionalGeneration",
    "KimiVLForConditionalGeneration",
    "MiniCPM3ForCausalLM",
    "MistralLarge3ForCausalLM",
    "MistralLarge3ForCausalLMEagle",
    "PixtralForConditionalGeneration",
    "SarvamMLAForCausalLM",
)
# Of those, the ones that keep the keys of a sparse indexer where index_topk is given.
_INDEXED = (
    "DeepseekV3ForCausalLM",
    "DeepseekV32ForCausalLM",
    "GlmMoeDsaForCausalLM",
    "MistralLarge3ForCausalLM",
    "PixtralForConditionalGeneration",
)
# A key that only checkpoints of a family have whose pools are not sized yet -> what they are.
_OTHER_KEYS = {
    "compress_ratios": "compressed attention with a pool for each ratio",
    "sparse_attention_config": "block-sparse attention with an indexer of its own",
    "swa_kv_lora_rank": "sliding-window latent attention",
    "local_layer_ids": "local layers with convolutions of their own",
    "conv_L_cache": "short convolutions without a state",
    "attn_layer_period": "Mamba 1 layers",
    "num_linear_key_value_heads": "lightning-attention layers",
    "index_kpool": "a sparse indexer with pooled keys",
    "block_configs": "layers that differ one from another",
    "cca_time0": "compressed convolutional attention",
    "hc_mult": "hyper-connected layers",
}
_OTHER_ARCHITECTURES = {
    "BailingMoeV2_5ForCausalLM": "lightning-attention layers",
    "BailingMoeV3ForCausalLM": "linear-attention layers among latent ones, sized in a way of its own",
    "FalconH1ForCausalLM": "layers that attend and keep a state at once",
    "FalconMambaForCausalLM": "Mamba 1 layers",
    "JetNemotronForCausalLM": "dynamic-convolution layers",
    "LongcatFlashForCausalLM": "two attentions in each layer",
    "MiniMaxM1ForCausalLM": "lightning-attention layers",
    "MiniMaxText01ForCausalLM": "lightning-attention layers",
    "MambaForCausalLM": "Mamba 1 layers",
    "Mamba2ForCausalLM": "state-space layers alone",
    "WhisperForConditionalGeneration": "an encoder",
}
_LOOPS = ("loop_num", "num_loops")


def attention_of(text: Fields, architecture: str, layers: int) -> Attention:
    """The geometry of `layers` layers; OtherAttention where the engine holds more than is sized here. Raises ModelError for what is missing or absurd."""
    heads = heads_of(text)
    other = _other(text, architecture)
    if other is not None:
        return OtherAttention(other, heads)
    reader: Callable[[Fields, int], Attention] | None = hybrid_reader(text, architecture)
    if reader is None and text.has("kv_lora_rank"):
        return _latent(text, architecture, heads, layers)
    return (reader or sliding_reader(text, architecture) or _plain)(text, layers)


def _plain(text: Fields, layers: int) -> GqaGeometry:
    return gqa_of(text)


def _other(text: Fields, architecture: str) -> str | None:
    if architecture in _OTHER_ARCHITECTURES:
        return _OTHER_ARCHITECTURES[architecture]
    if any(text.has(key) and text.whole(key, 1, 1_000) > 1 for key in _LOOPS):
        return "layers that are passed more than once"
    return next(
        (what for key, what in _OTHER_KEYS.items() if text.has(key) and text.data[key] not in ([], {}, 1)), None
    )


def _names(text: Fields, architecture: str) -> set[object]:
    """The served architecture and the text model's own, which a multimodal checkpoint names apart."""
    listed = text.data.get("architectures")
    own = {name for name in listed if isinstance(name, str)} if isinstance(listed, list) else set()
    return {architecture, *own}


def _latent(text: Fields, architecture: str, heads: int, layers: int) -> Attention:
    names = _names(text, architecture)
    if names.isdisjoint(_MLA) or text.data.get("use_mla") is False:
        return OtherAttention("latent attention that the engine holds in a way not known here", heads)
    indexed = text.has("index_topk") and not names.isdisjoint(_INDEXED)
    return MlaGeometry(
        text.whole("kv_lora_rank", 1, MAX_HEADS),
        text.whole("qk_rope_head_dim", 1, MAX_HEADS),
        heads,
        text.whole("index_head_dim", 1, MAX_HEADS) if indexed else None,
        index_pattern=index_pattern_of(text, layers) if indexed else None,
    )


def mtp_layers(text: Fields, architecture: str, maximum: int) -> int:
    """Layers for multi-token prediction inside the checkpoint, as the engine finds them: by the count, or one by the architecture's rule."""
    for key in ("num_nextn_predict_layers", "mtp_num_hidden_layers"):
        if text.has(key):
            return text.whole(key, 0, maximum)
    return 1 if architecture == "Qwen3NextForCausalLM" else 0


def is_multimodal(top: Mapping[str, object]) -> bool:
    return any(top.get(key) is not None for key in ("vision_config", "audio_config", "vision_tower", "mm_vision_tower"))
