# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SGLang 0.5.9 imports names of sgl-kernel, which is published for CUDA only; on a CPU it calls none of them."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NoReturn

__version__ = "0.3.21"  # what SGLang 0.5.9 pins


class _Name:
    """A kernel that can be imported and not called."""

    def __init__(self, name: str) -> None:
        self.__dict__["__name__"] = name

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"sgl_kernel.{self.__name__} is the stand-in of sglang-cpu-shims")  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> _Name:
        return _lookup(name)


class _Module(ModuleType):
    def __getattr__(self, name: str) -> _Name:
        return _lookup(name)


class _Loader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = _Module(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module: ModuleType) -> None:
        return None


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.startswith(f"{__name__}."):
            return importlib.machinery.ModuleSpec(name, _Loader(), is_package=True)
        return None


def _lookup(name: str) -> _Name:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Name(name)


def __getattr__(name: str) -> _Name:
    return _lookup(name)


sys.meta_path.insert(0, _Finder())
