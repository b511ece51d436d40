# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ratio of the host cache that the engine chooses by itself since 0.5.21: its `auto_size_hicache` beside a real device pool."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest import mock

import host
import refusals
import sizes
import torch
from sglang.srt.mem_cache import hicache_auto_size
from sglang.srt.mem_cache.pool_host import base
from sglang.srt.runtime_context import get_context, get_memory


def answer(case: dict[str, Any]) -> dict[str, Any]:
    return refusals.answered(_answer, case)


def _answer(case: dict[str, Any]) -> dict[str, Any]:
    with mock.patch.object(torch, "get_device_module", return_value=mock.MagicMock()), sizes.Sizes():
        pool = host.device_pool(case)
    given = SimpleNamespace(
        token_to_kv_pool_allocator=SimpleNamespace(get_kvcache=lambda: pool),
        req_to_token_pool=None,
        mtp_draft_device_pools=(),
    )
    with (
        get_context().override_server_args(hicache_ratio=2.0, hicache_host_memory_fraction=case["fraction"]),
        mock.patch.object(base, "available_host_memory_bytes", return_value=case["available_bytes"]),
        mock.patch.object(base, "ranks_per_host", return_value=case["ranks"]),
        mock.patch.object(hicache_auto_size, "ranks_per_host", return_value=case["ranks"]),
        hicache_auto_size.auto_size_hicache(given, None, enabled=True),
    ):
        return {"ratio": get_memory().hicache_ratio}
