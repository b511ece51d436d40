# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who holds the GPUs (has one open), within a deadline whatever hangs. Private to the collection, may change any time.

Reading /proc of a process that sleeps in the driver or on a file system that is gone may never return. So the looking is done by a process of
its own, which says whom it looks at next. When it falls silent it is left behind, and another goes on with the process after that one.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ..child_process import JsonLinesChild
from ..files import Unread, text_of
from ..identity import Identity
from ..memory import DIRECTORY, Segment, device_of, marked, read_segments
from ..process import users_of_processes
from . import child
from .gpu_nodes import GpuNodes

CONTROL_NODES = ("nvidiactl", "nvidia-modeset")
"""Nodes that any client of the driver opens, nvidia-smi too: whoever has nothing else open holds no GPU."""

UVM_NODE = "nvidia-uvm"
"""Opened by every process that makes a CUDA context, and by nothing that only watches."""


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


_MOST_TIMEOUTS = 3
_MOST_NAMED = 5
_NOT_REACHED = "other processes"
_FIRST_PART = child.DESCRIPTORS

HIDDEN = "processes"
"""What `unread` calls those that may not be looked into; they do not hang."""


@dataclass(frozen=True)
class Holders:
    """`processes` and `descriptors` that were looked at. While anything is `unread` nothing proves that there is no further holder. `broken_off`: why
    the search ended before it had looked at the descriptors of all.
    """

    holders: tuple[Holder, ...]
    segments: tuple[Segment, ...]
    processes: int
    descriptors: int
    unread: tuple[Unread, ...] = ()
    broken_off: str | None = None


@dataclass(frozen=True)
class ScanRequest:
    """What the program is asked for. `part` and `first`: where to go on, at which process; `known`: those to tell of anyway."""

    nodes: dict[str, Any]
    environment: tuple[str, ...] = ()
    proc: str = "/proc"
    shared_memory: tuple[int, int] | None = None
    part: str = _FIRST_PART
    first: int = 0
    known: tuple[int, ...] = ()

    def as_json(self) -> str:
        return json.dumps(asdict(self))


@dataclass
class Sight:
    """What was told, by all programs together. `at`: part and process that were being looked at last."""

    holders: dict[int, dict[str, Any]] = field(default_factory=dict)
    looked_at: set[int] = field(default_factory=set)
    referenced: set[int] = field(default_factory=set)
    refused: set[int] = field(default_factory=set)
    asleep: set[int] = field(default_factory=set)
    at: tuple[str, int] | None = None
    descriptors: int = 0
    ended: str | None = None
    broken_off: str | None = None
    done: bool = False

    def take(self, message: dict[str, Any], before: int) -> None:
        """`before`: descriptors that earlier programs have counted."""
        if "reading" in message:
            self.at = (message["part"], message["reading"])
            self.looked_at.add(message["reading"])
        if "descriptors" in message:
            self.descriptors = before + message["descriptors"]
        if "holder" in message:
            self._take_holder(message["holder"])
        if "broke" in message:
            self.ended = f"failed with {message['broke']}"
        for name, pids in (("referenced", self.referenced), ("refused", self.refused), ("asleep", self.asleep)):
            if name in message:
                pids.add(message[name])
        self.asleep.discard(message.get("woken", 0))
        self.done = self.done or "done" in message

    def _take_holder(self, message: dict[str, Any]) -> None:
        identity = message["identity"]
        before = self.holders.get(identity["pid"])
        self.holders[identity["pid"]] = message
        if before and before["identity"]["start_ticks"] == identity["start_ticks"]:
            for name, how in before["devices"].items():
                message["devices"][name] = sorted({*how, *message["devices"].get(name, ())})


def read_holders(
    nodes: GpuNodes,
    environment: Sequence[str],
    timeout_seconds: float,
    proc: str = "/proc",
    shared_memory: str = DIRECTORY,
    listed: Sequence[int] = (),
) -> Holders:
    """`environment`: names of the variables to tell of each holder. `timeout_seconds`: how long one process may keep us; all, three times that.

    `listed`: pids that are told of whatever they have open, as NVML lists them.
    """
    segments = read_segments(shared_memory)
    sight = Sight()
    unread = _look(
        sight,
        ScanRequest(nodes.as_json(), tuple(environment), proc, device_of(shared_memory), known=tuple(listed)),
        timeout_seconds,
    )
    if sight.refused:
        unread.append(Unread(HIDDEN, _refusal(sight.refused, os.geteuid() == 0)))
    for pid in sorted(sight.asleep):
        why = "sleeps and cannot be interrupted: its mappings and environment were not read, not to hang with it"
        unread.append(Unread(_named(pid, proc), why))
    return Holders(
        tuple(_holder(sight.holders[pid]) for pid in sorted(sight.holders)),
        segments if unread else marked(segments, sight.referenced, users_of_processes(Path(proc)), time.time()),
        len(sight.looked_at),
        sight.descriptors,
        tuple(unread),
        sight.broken_off,
    )


def _look(sight: Sight, request: ScanRequest, timeout_seconds: float) -> list[Unread]:
    """One program after the other until all was looked at; returns what kept each of them."""
    unread: list[Unread] = []
    end = time.monotonic() + _MOST_TIMEOUTS * timeout_seconds
    while True:
        speaker = JsonLinesChild(child.__name__, request.as_json(), timeout_seconds)
        before, sight.at = sight.descriptors, None
        for message in speaker.messages(end - time.monotonic()):
            sight.take(message, before)
        silent = speaker.silent_seconds
        if silent is None and not (sight.done or sight.ended):
            sight.ended = speaker.ending()
        speaker.leave()
        if sight.done:
            return unread
        if silent is None or silent < timeout_seconds or sight.at is None:
            why = _breaking_off(sight, silent, timeout_seconds)
            if (sight.at[0] if sight.at else request.part) == _FIRST_PART:
                sight.broken_off = why
            return [*unread, Unread(_NOT_REACHED, why)]
        part, pid = sight.at
        unread.append(Unread(_named(pid, request.proc), f"did not answer within {timeout_seconds:g} seconds"))
        request = replace(request, part=part, first=pid + 1, known=tuple(sorted({*sight.holders, *request.known})))


def _refusal(pids: set[int], we_are_root: bool) -> str:
    if not we_are_root:
        return f"{len(pids)} processes of other users could not be looked into: run as root"
    named = ", ".join(map(str, sorted(pids)[:_MOST_NAMED])) + (", ..." if len(pids) > _MOST_NAMED else "")
    return f"{len(pids)} could not be looked into although we are root ({named}): a container or a security module keeps them from us"


def _breaking_off(sight: Sight, silent_seconds: float | None, timeout_seconds: float) -> str:
    at = "before it looked at any" if sight.at is None else f"at process {sight.at[1]}"
    if silent_seconds is None:
        return f"the program that looks at them {sight.ended} {at}"
    if silent_seconds < timeout_seconds:
        return f"looking at them took longer than {_MOST_TIMEOUTS * timeout_seconds:g} seconds and was broken off {at}"
    return f"the program that looks at them said nothing within {timeout_seconds:g} seconds"


def _named(pid: int, proc: str) -> str:
    """The name is in the kernel's own memory: reading it does not hang."""
    name = text_of(Path(proc) / str(pid) / "comm").strip()
    return f"process {pid} ({name})" if name else f"process {pid}"


def _holder(message: dict[str, Any]) -> Holder:
    facts = {name: value for name, value in message.items() if name not in ("identity", "devices", "namespace_pids")}
    return Holder(
        identity=Identity(**message["identity"]),
        namespace_pids=tuple(message["namespace_pids"]),
        devices={name: tuple(how) for name, how in sorted(message["devices"].items())},
        **facts,
    )
