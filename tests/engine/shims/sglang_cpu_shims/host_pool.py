# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host pool of the hierarchical cache on a CPU torch: no pinning, no streams, copies by index."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any


def without_registration(module: ModuleType) -> None:
    """Pinning is a CUDA call; ordinary memory is as good for a copy on the CPU."""
    for name in ("_cuda_host_register", "_cuda_host_unregister"):
        setattr(module, name, _nothing)


def synchronous_streams(module: ModuleType) -> None:
    """`torch.cpu.Stream` has none of the methods of a CUDA stream; what it runs has finished when the call returns."""
    import torch

    for name in ("synchronize", "wait_event", "wait_stream", "record_event"):
        if not hasattr(torch.cpu.Stream, name):
            setattr(torch.cpu.Stream, name, _nothing)


def copies_with_views(module: ModuleType) -> None:
    """0.5.23: the pool holds views of the device buffers."""

    def backup(
        self: Any, device_pool: Any, host_indices: Any, device_indices: Any, io_backend: str, *args: Any, **kwargs: Any
    ) -> None:
        host = host_indices.cpu()
        for layer in range(self.layer_num):
            self.k_data_refs[layer][host] = self.device_k_buffers[layer][device_indices]
            self.v_data_refs[layer][host] = self.device_v_buffers[layer][device_indices]

    def load(
        self: Any,
        device_pool: Any,
        host_indices: Any,
        device_indices: Any,
        layer_id: int,
        io_backend: str,
        *,
        is_draft: bool = False,
    ) -> None:
        host = host_indices.cpu()
        self.device_k_buffers[layer_id][device_indices] = self.k_data_refs[layer_id][host]
        self.device_v_buffers[layer_id][device_indices] = self.v_data_refs[layer_id][host]

    _set_copies(module, backup, load)


def single_module(module: ModuleType) -> None:
    """0.5.9: registration, streams and pools in one module, and the device buffers reached through the device pool."""
    if not hasattr(module, "alloc_with_host_register"):
        return
    import torch

    torch.cuda.cudart = lambda: SimpleNamespace(cudaHostRegister=_success, cudaHostUnregister=_success)
    synchronous_streams(module)

    def backup(self: Any, device_pool: Any, host_indices: Any, device_indices: Any, io_backend: str) -> None:
        host = host_indices.cpu()
        for layer in range(self.layer_num):
            self.k_data_refs[layer][host] = device_pool.k_buffer[layer][device_indices]
            self.v_data_refs[layer][host] = device_pool.v_buffer[layer][device_indices]

    def load(
        self: Any, device_pool: Any, host_indices: Any, device_indices: Any, layer_id: int, io_backend: str
    ) -> None:
        host = host_indices.cpu()
        device_pool.k_buffer[layer_id][device_indices] = self.k_data_refs[layer_id][host]
        device_pool.v_buffer[layer_id][device_indices] = self.v_data_refs[layer_id][host]

    _set_copies(module, backup, load)


def _set_copies(module: ModuleType, backup: Any, load: Any) -> None:
    pool = getattr(module, "MHATokenToKVPoolHost", None)
    if pool is not None and pool.__module__ == module.__name__:
        pool.backup_from_device_all_layer = backup
        pool.load_to_device_per_layer = load


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _success(*args: Any) -> int:
    return 0
