# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host as planning sees it: a compact value that a plan stands on and carries along. Private to the collection, may change any time.

A plan made while its instance runs must not read the memory that the instance itself takes: it stands on the value
that the plan before the start stood on, as long as the hardware is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ...core.errors import PlanningError
from ...core.fields import Fields
from ...core.units import GIB

_MAX_BYTES = 1 << 60
_MAX_NODE = 1 << 16
_ADVICE = "give the topology as topology_facts returns it"
_ENGINES_ADVICE = "give other_engines as deployment_info returns them"
# The design host (449 GiB) had 445 GiB available before the start of 2026-02-24: the system itself took 4 GiB.
_SYSTEM_BYTES = 4 * GIB
# Sources of free memory that nobody saw, as the instance ran already.
UNKNOWN = "estimate: the instance is running"
OTHER_HARDWARE = "estimate: the instance is running, on other hardware than was planned"
# A new kernel or a balloon device moves MemTotal a little; the machine is still the same.
_SAME_TOTAL = 0.01


@dataclass(frozen=True)
class GpuState:
    """One card; `free_bytes` is None where nothing is known but its size. A lost card shows its address in place of its uuid."""

    index: int
    uuid: str
    state: str
    total_bytes: int
    free_bytes: int | None
    source: str
    numa_node: int | None = None  # None: none, or not known

    @property
    def usable(self) -> bool:
        return self.state == "ok"


@dataclass(frozen=True)
class NumaNode:
    """One NUMA node and its memory in all."""

    node: int
    total_bytes: int


@dataclass(frozen=True)
class HostState:
    """`cgroup_headroom_bytes` and `memlock_bytes` are None where nothing limits. The two load figures come from the operator's data only."""

    gpus: tuple[GpuState, ...]
    memory_total_bytes: int
    memory_available_bytes: int
    memory_source: str
    cgroup_limit_bytes: int | None = None
    cgroup_headroom_bytes: int | None = None
    memlock_bytes: int | None = None
    free_before_load_bytes: int | None = None
    free_after_load_bytes: int | None = None
    zfs_arc_bytes: int = 0
    zfs_arc_min_bytes: int = 0
    huge_pages_bytes: int = 0  # reserved, and so no part of what is available
    shared_bytes: int = 0  # Shmem before the start
    numa_nodes: tuple[NumaNode, ...] = ()  # empty where the host has one node, or shows none
    other_engines: tuple[tuple[str, int], ...] = ()  # host memory that other inference servers hold, by unit
    compute_capabilities: tuple[str, ...] = field(default=(), compare=False)  # of the cards; no part of the observation
    driver_error: str | None = field(default=None, compare=False)  # why no card shows; no part of the observation

    def as_dict(self) -> dict[str, Any]:
        """The `observation` of a plan."""
        return {
            "gpus": [asdict(gpu) for gpu in self.gpus],
            "memory": {
                "total_bytes": self.memory_total_bytes,
                "available_bytes": self.memory_available_bytes,
                "source": self.memory_source,
                "zfs_arc_bytes": self.zfs_arc_bytes,
                "zfs_arc_min_bytes": self.zfs_arc_min_bytes,
                "huge_pages_bytes": self.huge_pages_bytes,
                "shared_bytes": self.shared_bytes,
                "numa_nodes": [asdict(node) for node in self.numa_nodes],
            },
            "cgroup": {"limit_bytes": self.cgroup_limit_bytes, "headroom_bytes": self.cgroup_headroom_bytes},
            "memlock_bytes": self.memlock_bytes,
            "free_before_load_bytes": self.free_before_load_bytes,
            "free_after_load_bytes": self.free_after_load_bytes,
            "other_engines": [{"unit": unit, "memory_bytes": size} for unit, size in self.other_engines],
        }

    def same_hardware(self, other: HostState) -> bool:
        cards = [[(gpu.index, gpu.uuid, gpu.state, gpu.total_bytes) for gpu in host.gpus] for host in (self, other)]
        near = abs(self.memory_total_bytes - other.memory_total_bytes) <= _SAME_TOTAL * self.memory_total_bytes
        return cards[0] == cards[1] and near and self.cgroup_limit_bytes == other.cgroup_limit_bytes


def idle_available_bytes(total_bytes: int) -> int:
    """MemAvailable of a host that runs nothing but its system."""
    return total_bytes - min(_SYSTEM_BYTES, total_bytes // 20)


def host_from_topology(topology: Any, other_engines: Any = ()) -> HostState:
    """The facts of `topology_facts`, compacted, and the other engines as `deployment_info` tells them."""
    fields = Fields.of(topology, "The topology", _ADVICE, PlanningError)
    memory = fields.within("memory")
    cgroup = fields.within("cgroup") if fields.has("cgroup") else None
    limit = cgroup.optional_whole("limit_bytes", 1, _MAX_BYTES) if cgroup else None
    gpus = fields.rows("gpus", "A GPU of the topology")
    capabilities = [gpu.optional_text("compute_capability") for gpu in gpus]
    return HostState(
        gpus=tuple(_gpu_from_topology(gpu) for gpu in gpus),
        memory_total_bytes=memory.whole("total_bytes", 1, _MAX_BYTES),
        memory_available_bytes=memory.whole("available_bytes", 0, _MAX_BYTES),
        memory_source="meminfo",
        cgroup_limit_bytes=limit,
        cgroup_headroom_bytes=_headroom_bytes(cgroup) if cgroup else None,
        memlock_bytes=_binding_memlock(fields),
        zfs_arc_bytes=memory.optional_whole("zfs_arc_bytes", 0, _MAX_BYTES) or 0,
        zfs_arc_min_bytes=memory.optional_whole("zfs_arc_min_bytes", 0, _MAX_BYTES) or 0,
        huge_pages_bytes=_huge_pages(memory),
        shared_bytes=memory.optional_whole("shmem_bytes", 0, _MAX_BYTES) or 0,
        numa_nodes=_nodes(memory),
        other_engines=_other_engines(other_engines),
        compute_capabilities=tuple(sorted(set(filter(None, capabilities)))),
        driver_error=(fields.data.get("driver") or {}).get("error"),
    )


def _headroom_bytes(cgroup: Fields) -> int | None:
    """What the group may still take before it is killed or slowed down; pages of files, as an earlier load of the weights leaves them, count as free."""
    bounds = [cgroup.optional_whole(key, 1, _MAX_BYTES) for key in ("limit_bytes", "throttle_bytes")]
    current = cgroup.optional_whole("current_bytes", 0, _MAX_BYTES) or 0
    held = max(0, current - (cgroup.optional_whole("cached_bytes", 0, _MAX_BYTES) or 0))
    return min((max(0, bound - held) for bound in bounds if bound is not None), default=None)


def _gpu_from_topology(gpu: Fields) -> GpuState:
    state = gpu.text("state")
    if state != "ok":
        return GpuState(
            gpu.whole("index", 0, 4096),
            gpu.optional_text("uuid") or gpu.optional_text("pci_address") or "",
            state,
            gpu.optional_whole("memory_total_bytes", 0, _MAX_BYTES) or 0,
            0,
            "nvml",
        )
    return GpuState(
        index=gpu.whole("index", 0, 4096),
        uuid=gpu.text("uuid"),
        state=state,
        total_bytes=gpu.whole("memory_total_bytes", 1, _MAX_BYTES),
        free_bytes=gpu.whole("memory_free_bytes", 0, _MAX_BYTES),
        source="nvml",
        numa_node=gpu.optional_whole("numa_node", 0, _MAX_NODE),
    )


def _nodes(memory: Fields) -> tuple[NumaNode, ...]:
    """The nodes with memory, where there are several; of one node nothing need be known."""
    rows = memory.rows("numa_nodes", "A NUMA node") if memory.has("numa_nodes") else []
    nodes = [NumaNode(row.whole("node", 0, _MAX_NODE), row.whole("total_bytes", 0, _MAX_BYTES)) for row in rows]
    return tuple(node for node in nodes if node.total_bytes) if len(nodes) > 1 else ()


def _huge_pages(memory: Fields) -> int:
    rows = memory.rows("huge_pages", "A size of huge pages") if memory.has("huge_pages") else []
    return sum(row.whole("size_bytes", 1, _MAX_BYTES) * row.whole("total", 0, _MAX_BYTES) for row in rows)


def _binding_memlock(topology: Fields) -> int | None:
    """The limit of locked memory that a unit cannot lift.

    systemd lifts RLIMIT_MEMLOCK for the unit, which needs CAP_SYS_RESOURCE in the first user namespace: only inside a
    container is the hard limit seen there the last word.
    """
    kind = (topology.data.get("virtualisation") or {}).get("kind")
    if kind not in ("lxc", "docker", "podman") or not topology.has("memlock"):
        return None
    return topology.within("memlock").optional_whole("hard_bytes", 0, _MAX_BYTES)


def host_from_observation(data: Mapping[str, Any]) -> HostState:
    """The `observation` of an earlier plan."""
    fields = Fields.of(data, "The observation", "leave it out, and planning observes anew", PlanningError)
    memory, cgroup = fields.within("memory"), fields.within("cgroup")
    return HostState(
        gpus=tuple(
            GpuState(
                index=gpu.whole("index", 0, 4096),
                uuid=str(gpu.data.get("uuid")),
                state=gpu.text("state"),
                total_bytes=gpu.whole("total_bytes", 0, _MAX_BYTES),
                free_bytes=gpu.optional_whole("free_bytes", 0, _MAX_BYTES),
                source=gpu.text("source"),
                numa_node=gpu.optional_whole("numa_node", 0, _MAX_NODE),
            )
            for gpu in fields.rows("gpus", "A GPU of the observation")
        ),
        memory_total_bytes=memory.whole("total_bytes", 1, _MAX_BYTES),
        memory_available_bytes=memory.whole("available_bytes", 0, _MAX_BYTES),
        memory_source=memory.text("source"),
        cgroup_limit_bytes=cgroup.optional_whole("limit_bytes", 0, _MAX_BYTES),
        cgroup_headroom_bytes=cgroup.optional_whole("headroom_bytes", 0, _MAX_BYTES),
        memlock_bytes=fields.optional_whole("memlock_bytes", 0, _MAX_BYTES),
        free_before_load_bytes=fields.optional_whole("free_before_load_bytes", 1, _MAX_BYTES),
        free_after_load_bytes=fields.optional_whole("free_after_load_bytes", 0, _MAX_BYTES),
        zfs_arc_bytes=memory.optional_whole("zfs_arc_bytes", 0, _MAX_BYTES) or 0,
        zfs_arc_min_bytes=memory.optional_whole("zfs_arc_min_bytes", 0, _MAX_BYTES) or 0,
        huge_pages_bytes=memory.optional_whole("huge_pages_bytes", 0, _MAX_BYTES) or 0,
        shared_bytes=memory.optional_whole("shared_bytes", 0, _MAX_BYTES) or 0,
        numa_nodes=_nodes(memory),
        other_engines=_other_engines(fields.data.get("other_engines")),
    )


def _other_engines(data: Any) -> tuple[tuple[str, int], ...]:
    fields = Fields({"other_engines": data}, "What else runs", _ENGINES_ADVICE, PlanningError)
    rows = fields.rows("other_engines", "One of the other engines")
    return tuple(sorted((row.text("unit"), row.whole("memory_bytes", 0, _MAX_BYTES)) for row in rows))
