# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host pools: the engine's classes, built of tensors without memory beside device pools of the same kind.

0.5.9: `MHATokenToKVPoolHost`, `MLATokenToKVPoolHost` over device pools. 0.5.23: the same classes over `HostKVCache.__init__`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest import mock

import psutil
import refusals
import sizes
import torch
from sglang.srt.mem_cache import memory_pool, memory_pool_host

try:  # 0.5.23
    from sglang.srt.mem_cache import device_pool_info
    from sglang.srt.mem_cache.pool_host import base as host_base
    from sglang.srt.mem_cache.pool_host import common
    from sglang.srt.mem_cache.pool_host.mha import MHATokenToKVPoolHost
    from sglang.srt.mem_cache.pool_host.mla import MLATokenToKVPoolHost
except ImportError:
    host_base = memory_pool_host
    MHATokenToKVPoolHost, MLATokenToKVPoolHost = (
        memory_pool_host.MHATokenToKVPoolHost,
        memory_pool_host.MLATokenToKVPoolHost,
    )

_DTYPES = {"bfloat16": torch.bfloat16, "fp8_e4m3": torch.float8_e4m3fn}


def answer(case: dict[str, Any]) -> dict[str, Any]:
    return refusals.answered(_answer, case)


def _answer(case: dict[str, Any]) -> dict[str, Any]:
    memory = SimpleNamespace(available=case["available_bytes"], total=case["available_bytes"])
    checks = [mock.patch.object(psutil, "virtual_memory", return_value=memory)]
    if hasattr(host_base, "available_host_memory_bytes"):
        checks.append(mock.patch.object(host_base, "available_host_memory_bytes", return_value=memory.available))
    if host_base is not memory_pool_host:
        checks.append(
            mock.patch.object(
                common, "alloc_mmap", side_effect=lambda dims, dtype, **_settings: torch.empty(dims, dtype=dtype)
            )
        )
        # It compares devices, and tables of addresses are real while buffers are not.
        checks.append(mock.patch.object(device_pool_info.MLABufferInfo, "validate", return_value=None))
    with mock.patch.object(torch, "get_device_module", return_value=mock.MagicMock()), sizes.Sizes():
        device = device_pool(case)
        for check in checks:
            check.start()
        try:
            host = _host_pool(case, device)
        finally:
            for check in checks:
                check.stop()
    return {
        "tokens": host.size,
        "row_bytes": host.size_per_token,
        "allocated_bytes": sizes.bytes_of(host.kv_buffer),
    }


def device_pool(case: dict[str, Any]) -> Any:
    shape = case["shape"]
    shared: dict[str, Any] = {
        "page_size": case["page_size"],
        "dtype": _DTYPES[case["dtype"]],
        "layer_num": case["layers"],
        "device": "meta",
        "enable_memory_saver": False,
        "start_layer": 0,
        "end_layer": case["layers"],
    }
    if shape["kind"] == "mla":
        return memory_pool.MLATokenToKVPool(
            case["device_tokens"],
            kv_lora_rank=shape["kv_lora_rank"],
            qk_rope_head_dim=shape["qk_rope_head_dim"],
            **shared,
        )
    return memory_pool.MHATokenToKVPool(
        case["device_tokens"], head_num=shape["kv_heads"], head_dim=shape["head_dim"], **shared
    )


def _host_pool(case: dict[str, Any], device: Any) -> Any:
    kind = MLATokenToKVPoolHost if case["shape"]["kind"] == "mla" else MHATokenToKVPoolHost
    settings: dict[str, Any] = {
        "host_to_device_ratio": case["ratio"] or 0.0,
        "host_size": case["size_gb"] or 0,
        "page_size": case["page_size"],
        "layout": case["layout"],
        "pin_memory": False,
    }
    if host_base is memory_pool_host:
        return kind(device, **settings)
    information = device._mla_buffer_info() if case["shape"]["kind"] == "mla" else device._mha_buffer_info()
    more = {} if case["shape"]["kind"] != "mla" else {"target_layer_num": case["layers"]}
    return kind(
        information,
        device_capacity_tokens=device.size,
        start_layer=0,
        end_layer=case["layers"],
        **more,
        **settings,
    )
