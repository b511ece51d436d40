# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A card that is described by how much of it is free; the engine reads it with its own function."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from unittest import mock

import torch
from sglang.srt.utils import common

GIB = 1 << 30


@contextmanager
def with_free(free_bytes: int) -> Iterator[None]:
    replaced = {
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda index: None,
        "empty_cache": lambda: None,
        "get_device_properties": lambda index: SimpleNamespace(is_integrated=False),
        "mem_get_info": lambda index: (free_bytes, free_bytes),
    }
    with ExitStack() as stack:
        for name, value in replaced.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, value))
        yield


def seen_gib(free_bytes: int, ranks: int) -> float:
    """GiB as the engine sees them: the minimum over several ranks goes through single precision."""
    with with_free(free_bytes):
        return float(common.get_available_gpu_memory("cuda", 0, distributed=ranks > 1, cpu_group=None))


class Agreement:
    """Stands for `all_reduce` with the minimum: pipeline stages agree on a count of tokens."""

    def __init__(self, agreed: int | None) -> None:
        self.agreed = agreed
        self.seen: list[int] = []

    def __call__(self, tensor: torch.Tensor, **_settings: object) -> None:
        if tensor.dtype != torch.int64:  # free memory, the same on all ranks
            return
        self.seen.append(int(tensor.item()))
        if self.agreed is not None:
            tensor.fill_(self.agreed)
