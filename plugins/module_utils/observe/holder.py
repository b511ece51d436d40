# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A holder: a process that has a GPU open. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass, field

CONTROL_NODES = ("nvidiactl", "nvidia-modeset")
"""Nodes that any client of the driver opens, nvidia-smi too: whoever has nothing else open holds no GPU."""

UVM_NODE = "nvidia-uvm"
"""Opened by every process that makes a CUDA context, and by nothing that only watches."""


@dataclass(frozen=True)
class Identity:
    """One process of this boot: pid and start time together never come again. The rest must not change either before it is signalled.

    `start_ticks`: field 22 of /proc/PID/stat, in clock ticks since boot. `control_group`: its path as /proc/PID/cgroup tells it, "/" where that
    cannot be read. `executable`: None where the leader has exited or the link cannot be read. One that was removed since, of either, keeps its name.
    """

    pid: int
    start_ticks: int
    control_group: str
    uid: int
    executable: str | None


@dataclass(frozen=True)
class Holder:
    """A process and how it holds GPUs.

    `devices`: the name of each node ("nvidia0", "nvidia-uvm", "nvidiactl"; the name under /dev of the node with the same device number, whatever
    path the process opened), to how: "descriptor", "mapping" or both. `gpu_memory_bytes`: index of each GPU on which NVML lists it, to the memory
    it uses there (None: NVML does not tell).
    `state`: letter of the leader ("Z": it has exited, `live_threads` of it have not). `namespace_pids`: its pid in each pid namespace
    from ours inwards, so the last is what it calls itself. `container`: what holds it, "lxc 101", "docker 4f0c2a..", None for none that shows.
    `unit`: innermost systemd unit of its control group. `started`: seconds since 1970. `environment`: those of the asked variables that it has.
    """

    identity: Identity
    name: str
    state: str
    live_threads: int
    parent_pid: int
    namespace_pids: tuple[int, ...]
    unit: str | None
    container: str | None
    started: float
    devices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    gpu_memory_bytes: dict[int, int | None] = field(default_factory=dict)
