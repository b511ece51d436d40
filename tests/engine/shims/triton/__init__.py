# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SGLang decorates kernels with triton while it is imported, and runs none on a CPU; the real package is a gigabyte."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from types import ModuleType
from typing import Any

__version__ = "3.8.0"

_classes: dict[str, type] = {}


class _Name:
    """Anything of triton that is no class: a decorator that hands back what it decorates, or a value in a kernel."""

    def __init__(self, name: str) -> None:
        self.__dict__["__name__"] = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and callable(args[0]):
            return args[0]
        if "driver" in self.__dict__["__name__"]:
            raise RuntimeError("there is no GPU: this is the stand-in of sglang-cpu-shims, not triton")
        return self

    def __getattr__(self, name: str) -> Any:
        return _lookup(f"{self.__dict__['__name__']}.{name}")

    def __getitem__(self, key: Any) -> _Name:
        return self

    def __or__(self, other: Any) -> _Name:
        return self

    __ror__ = __or__


class _Module(ModuleType):
    def __getattr__(self, name: str) -> Any:
        return _lookup(f"{self.__name__}.{name}")


class _Loader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = _Module(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module: ModuleType) -> None:
        return None


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, path: Any, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.startswith(f"{__name__}."):
            return importlib.machinery.ModuleSpec(name, _Loader(), is_package=True)
        return None


def _lookup(path: str) -> Any:
    name = path.rpartition(".")[2]
    if name.startswith("__"):
        raise AttributeError(path)
    if name[0].isupper():  # a class: it is subclassed, instantiated and asked for in isinstance
        return _classes.setdefault(path, type(name, (), {"__init__": _accept_anything}))
    return _Name(path)


def _accept_anything(self: Any, *args: Any, **kwargs: Any) -> None:
    return None


def __getattr__(name: str) -> Any:
    return _lookup(f"{__name__}.{name}")


sys.meta_path.insert(0, _Finder())
