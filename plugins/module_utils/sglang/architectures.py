# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which architectures SGLang sizes in a way of their own, by version. Private to the collection, may change any time.

Read in `configs/model_config.py`, `arg_groups/speculative_hook.py`, `arg_groups/overrides.py` and `models` of the published wheels. DeepSeek V4 and
Inkling, whose pools are of further kinds, are left out.
"""

from __future__ import annotations

# Whose sliding layers have a pool of their own. Before 0.5.7 every such pool was turned off, but for Llama 4 with a flag of its own.
_SLIDING_0_5_8 = ("Llama4ForConditionalGeneration", "GptOssForCausalLM", "MiMoV2FlashForCausalLM", "MiMoV2MTP")
_SLIDING_0_5_9 = (*_SLIDING_0_5_8, "Step3p5ForCausalLM", "Step3p5MTP")
_SLIDING_0_5_11 = (*_SLIDING_0_5_9, "MiMoV2ForCausalLM", "Gemma4ForCausalLM", "Gemma4ForConditionalGeneration")
_SLIDING_0_5_12 = (*_SLIDING_0_5_11, "LagunaForCausalLM")
_SLIDING_0_5_13 = (*_SLIDING_0_5_12, "Step3p7ForConditionalGeneration", "Gemma4UnifiedForConditionalGeneration")
_SLIDING_0_5_15 = (*_SLIDING_0_5_13, "UnlimitedOCRForCausalLM")
_SLIDING_0_5_16 = (*_SLIDING_0_5_15, "MellumForCausalLM")
_SLIDING_0_5_18 = (*_SLIDING_0_5_16, "MuseGlimmerForCausalLM", "MuseGlimmerForConditionalGeneration")
_SLIDING_0_5_19 = (*_SLIDING_0_5_18, "GraniteSWAForCausalLM", "GraniteMoeSWAForCausalLM")
_SLIDING_0_5_21 = (
    *_SLIDING_0_5_19,
    "DiffusionGemmaForBlockDiffusion",
    "IQuestQ1ForCausalLM",
    "IQuestQ1MTP",
)
_SLIDING_0_5_23 = (*_SLIDING_0_5_21, "BeamForCausalLM")
SLIDING: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("0.5.5", ()),
    ("0.5.7", ("MiMoV2FlashForCausalLM", "MiMoV2MTP")),
    ("0.5.8", _SLIDING_0_5_8),
    ("0.5.9", _SLIDING_0_5_9),
    ("0.5.11", _SLIDING_0_5_11),
    ("0.5.12", _SLIDING_0_5_12),
    ("0.5.13", _SLIDING_0_5_13),
    ("0.5.15", _SLIDING_0_5_15),
    ("0.5.16", _SLIDING_0_5_16),
    ("0.5.18", _SLIDING_0_5_18),
    ("0.5.19", _SLIDING_0_5_19),
    ("0.5.21", _SLIDING_0_5_21),
    ("0.5.23", _SLIDING_0_5_23),
)
# Whose own checkpoint the engine takes for the draft when none is named; of others (Qwen3-Next, Qwen3.5) it makes no room for MTP layers.
_MTP_SINCE_0_5_14 = (
    "DeepseekV32ForCausalLM",
    "DeepseekV3ForCausalLM",
    "Glm4MoeForCausalLM",
    "Glm4MoeLiteForCausalLM",
    "GlmMoeDsaForCausalLM",
    "BailingMoeForCausalLM",
    "BailingMoeV2ForCausalLM",
    "BailingMoeV2_5ForCausalLM",
    "MistralLarge3ForCausalLM",
    "PixtralForConditionalGeneration",
    "HYV3ForCausalLM",
)
_MTP_SINCE_0_5_20 = (*_MTP_SINCE_0_5_14, "HYV4ForCausalLM", "Qwen4ExpForConditionalGeneration")

MTP_COUNTED: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("0.5.5", ()),
    ("0.5.14", _MTP_SINCE_0_5_14),
    ("0.5.20", _MTP_SINCE_0_5_20),
)

# Hybrids with states that get an extra buffer by default, with the usual triton backend for linear attention.
_BUFFER_0_5_14 = (
    "Qwen3_5ForConditionalGeneration",
    "Qwen3_5MoeForConditionalGeneration",
    "Qwen3NextForCausalLM",
    "InternS2PreviewForConditionalGeneration",
    "MiniCPMV4_6ForConditionalGeneration",
    "BailingMoeV2_5ForCausalLM",
    "FalconH1ForCausalLM",
    "GraniteMoeHybridForCausalLM",
    "NemotronHForCausalLM",
    "NemotronHPuzzleForCausalLM",
)
_BUFFER_0_5_16 = (*_BUFFER_0_5_14, "KimiLinearForCausalLM")
_BUFFER_0_5_17 = (*_BUFFER_0_5_16, "KimiK3ForConditionalGeneration")
_BUFFER_0_5_19 = (*_BUFFER_0_5_17, "Qwen3_5MoeForCausalLM", "Qwen3_5ForCausalLM", "BailingMoeV3ForCausalLM")
_BUFFER_0_5_20 = (
    *_BUFFER_0_5_19,
    "Qwen4ExpForConditionalGeneration",
    "Glm5NextForConditionalGeneration",
    "NemotronH_Omni_Reasoning_V3",
)
EXTRA_BUFFER: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("0.5.5", ()),
    ("0.5.14", _BUFFER_0_5_14),
    ("0.5.16", _BUFFER_0_5_16),
    ("0.5.17", _BUFFER_0_5_17),
    ("0.5.19", _BUFFER_0_5_19),
    ("0.5.20", _BUFFER_0_5_20),
)

# Whose vision tower has a rotary table of the kind that is lengthened to the context, of half a head a row.
_TABLE_0_5_7 = (
    "Qwen3VLForConditionalGeneration",
    "Qwen3VLMoeForConditionalGeneration",
    "Glm4vForConditionalGeneration",
    "Glm4vMoeForConditionalGeneration",
)
_TABLE_0_5_9 = (
    *_TABLE_0_5_7,
    "Qwen3_5ForConditionalGeneration",
    "Qwen3_5MoeForConditionalGeneration",
    "GlmOcrForConditionalGeneration",
)
_TABLE_0_5_10 = (*_TABLE_0_5_9, "InternS1ProForConditionalGeneration")
_TABLE_0_5_20 = (*_TABLE_0_5_10, "Qwen4ExpForConditionalGeneration", "Glm5NextForConditionalGeneration")
VISION_TABLE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("0.5.5", ()),
    ("0.5.7", _TABLE_0_5_7),
    ("0.5.9", _TABLE_0_5_9),
    ("0.5.10", _TABLE_0_5_10),
    ("0.5.20", _TABLE_0_5_20),
)
