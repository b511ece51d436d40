# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a checkpoint's weights are quantised with, and the KV dtype that implies. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MODELOPT = {"NVFP4": "modelopt_fp4", "FP8": "modelopt_fp8"}


def quantization_of(
    config: Mapping[str, Any], text: Mapping[str, Any], quant_config: Mapping[str, Any] | None
) -> tuple[str | None, str | None]:
    """(quantisation, KV dtype it implies or None). Only a ModelOpt checkpoint makes "auto" mean FP8 (SGLang 0.5.5 to 0.5.23)."""
    found = (
        text.get("quantization_config")
        or config.get("quantization_config")
        or text.get("compression_config")
        or config.get("compression_config")
    )
    declared: dict[str, Any] = dict(found) if isinstance(found, Mapping) else {}
    modelopt = quant_config.get("quantization") if isinstance(quant_config, Mapping) else None
    if isinstance(modelopt, Mapping):
        declared = {"quant_method": "modelopt", **declared, **modelopt}
    method = declared.get("quant_method")
    if not isinstance(method, str):
        return None, None
    if not method.startswith("modelopt"):
        return " ".join([method, *_weight_types(declared)]), None
    algorithm = str(declared.get("quant_algo") or "").upper()
    scheme = declared.get("kv_cache_scheme")
    float8 = isinstance(scheme, Mapping) and scheme.get("type") == "float" and scheme.get("num_bits") == 8
    says_fp8 = str(declared.get("kv_cache_quant_algo") or "").upper() == "FP8"
    return _MODELOPT.get(algorithm, method), "fp8_e4m3" if says_fp8 or float8 else None


def _weight_types(declared: Mapping[str, Any]) -> list[str]:
    """`int4` of a compressed-tensors group, nothing for methods that say it in their name."""
    groups = declared.get("config_groups")
    if not isinstance(groups, Mapping):
        return []
    weights = [group.get("weights") for group in groups.values() if isinstance(group, Mapping)]
    return sorted({f"{row.get('type')}{row.get('num_bits')}" for row in weights if isinstance(row, Mapping)})
