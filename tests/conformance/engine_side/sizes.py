# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tensors that have a size and no memory: the engine's own pools are built of them, so that their bytes can be read."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_FACTORIES = {torch.zeros, torch.empty, torch.ones, torch.full, torch.arange, torch.zeros_like, torch.empty_like}
_FROM_VALUES = {torch.tensor, torch.as_tensor}


class Sizes(TorchFunctionMode):
    """Whatever device is asked for, a tensor made in here is on `meta`; one made of values stays readable."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in _FACTORIES:
            kwargs["device"] = "meta"
            kwargs.pop("pin_memory", None)
        elif func in _FROM_VALUES and kwargs.get("device") is not None:
            kwargs["device"] = "cpu"
        elif func is torch.cat and any(part.is_meta for part in args[0]):
            args = ([part.to("meta") for part in args[0]], *args[1:])
        return func(*args, **kwargs)


def bytes_of(held: Any) -> int:
    """Bytes of all tensors in an attribute: one, or a list of them."""
    if isinstance(held, torch.Tensor):
        return held.numel() * held.element_size()
    if isinstance(held, (list, tuple)):
        return sum(bytes_of(item) for item in held)
    return 0
