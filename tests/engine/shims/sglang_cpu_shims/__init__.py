# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Let the published SGLang wheels (0.5.9, 0.5.23) run on a CPU build of torch. For tests only.

A `.pth` file of this wheel imports this package when the interpreter starts; it costs one entry in `sys.meta_path` and touches a
module only when SGLang imports it. Nothing here changes a size, a log line or an answer: each patch replaces a call into CUDA by
the same work on the CPU, or defines a name that is imported and never called.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from sglang_cpu_shims import host_pool

Patch = Callable[[ModuleType], None]

AFTER_IMPORT: dict[str, Patch] = {
    # 0.5.23
    "sglang.srt.mem_cache.pool_host.common": host_pool.without_registration,
    "sglang.srt.mem_cache.l2_transfer": host_pool.synchronous_streams,
    "sglang.srt.mem_cache.pool_host.mha": host_pool.copies_with_views,
    # 0.5.9 keeps all of that in one module; in 0.5.23 the same name has no pool of its own.
    "sglang.srt.mem_cache.memory_pool_host": host_pool.single_module,
}


class _Finder(importlib.abc.MetaPathFinder):
    """Run a patch after one of the modules above is imported, and torchvision's before it is."""

    def __init__(self) -> None:
        self._busy = False

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name == "torchvision":
            _define_torchvision_operators()
        patch = AFTER_IMPORT.get(name)
        if patch is None or self._busy:
            return None
        self._busy = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._busy = False
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_patch(module: ModuleType) -> None:
            execute(module)
            patch(module)

        spec.loader.exec_module = execute_and_patch  # type: ignore[method-assign]
        return spec


def _define_torchvision_operators() -> None:
    """The published torchvision is built for CUDA; its import fails on a CPU torch that has no schema for its two operators."""
    import torch

    if getattr(torch, "_sglang_cpu_shims", None) is not None:
        return
    library: Any = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    torch._sglang_cpu_shims = library  # type: ignore[attr-defined]


def install() -> None:
    """Called by the `.pth` file."""
    sys.meta_path.insert(0, _Finder())
