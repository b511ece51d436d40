# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All that verification looks at, gathered in one go. Private to the collection, may change any time."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core.errors import ObservationError
from ..deploy.state import other_engines
from ..observe.cgroup import memlock_words
from ..observe.files import kstat, meminfo, text_of
from ..observe.journald import Entry, read_entries
from ..observe.process import CGROUP2_MOUNTS, listener_of, unit_of
from ..observe.systemd import Run, UnitState, show_properties, unit_state
from ..sglang import api
from ..sglang.log_lines import FIRED_UP, is_at_work, split_lines
from ..sglang.milestones import Milestone, follow
from ..sglang.start_log import StartJournal, parse_start
from ..wait.progress import Counters, count, pids_of_unit
from .planned import Planned

_OOM_KILLS = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)


class NotRunning(ObservationError):
    """There is no process to verify."""


@dataclass(frozen=True)
class Question:
    """What is verified against what."""

    unit: str
    server: api.Server
    planned: Planned
    served_model_name: str
    engine_version: str
    expected_unit: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Evidence:
    planned: Planned
    served_model_name: str
    engine_version: str
    port: int
    expected_unit: Mapping[str, Any]
    unit: UnitState
    invocation_after: str | None
    listener_is_ours: bool
    listener_said: str
    unit_properties: Mapping[str, str]
    memlock: str | None  # soft limit of the main process, and hard limit of systemd itself, as /proc words them
    manager_memlock: str | None
    models: api.Answer
    chat: api.Answer
    info_answer: api.Answer
    info: Mapping[str, Any]
    start: StartJournal
    start_rotated: bool
    started: (
        int | None
    )  # realtime of the first entry of the invocation and of the line that ends the start, in microseconds
    fired_up: int | None
    seconds_since_start: float | None  # None where the journal no longer holds the end of the start
    available_bytes: int | None
    zfs_arc_bytes: int
    other_engines: Mapping[str, int]
    meminfo_is_shared: bool  # a container without a meminfo of its own
    memory: Counters
    oom_kills: int | None


def gather(run: Run, question: Question, chat: bool = True) -> Evidence:
    """Read unit, API, journal and memory. Raises NotRunning, or ObservationError when the host cannot be read."""
    unit = unit_state(run, question.unit)
    if not unit.running or unit.invocation_id is None:
        raise NotRunning(
            f"{unit.name} is {unit.active_state or 'unknown'} (systemd: {unit.load_state}, {unit.result}). "
            f"A running unit was expected; start it with: systemctl start {unit.name}, wait until it is ready, then verify."
        )
    names = sorted(question.expected_unit)
    properties = show_properties(run, unit.name, names) if names else {}
    entries = read_entries(unit.invocation_id, enough=lambda entry: FIRED_UP in entry.message)
    lines = [line for entry in entries for line in split_lines(entry.message)]
    reached = follow(Milestone(), lines)
    fired_up = _fired_up(entries) if reached.fired_up else None
    listening, listener = listener_of(question.server.port)
    info_answer, info = api.server_info(question.server)
    pids = pids_of_unit(unit)
    answer = api.chat(question.server, question.served_model_name) if chat else api.Answer()
    return Evidence(
        planned=question.planned,
        served_model_name=question.served_model_name,
        engine_version=question.engine_version,
        port=question.server.port,
        expected_unit=question.expected_unit,
        unit=unit,
        models=question.server.get(api.MODELS),
        chat=answer,
        info_answer=info_answer,
        info=info,
        unit_properties=properties,
        memlock=memlock_words(text_of(f"/proc/{unit.main_pid}/limits"))[0],
        manager_memlock=memlock_words(text_of("/proc/1/limits"))[1],
        listener_is_ours=listener in pids,
        listener_said=_listener_said(listening, listener),
        start=parse_start(lines),
        start_rotated=not reached.start_seen and any(is_at_work(line) for line in lines),
        started=entries[0].realtime if entries else None,
        fired_up=fired_up,
        seconds_since_start=None if fired_up is None else time.time() - fired_up / 1e6,
        zfs_arc_bytes=kstat(text_of("/proc/spl/kstat/zfs/arcstats")).get("size", 0),
        other_engines=other_engines(unit.name),
        available_bytes=meminfo(text_of("/proc/meminfo")).get("MemAvailable"),
        meminfo_is_shared=_meminfo_is_shared(),
        memory=count(pids),
        oom_kills=_oom_kills(unit.control_group),
        invocation_after=unit_state(run, question.unit).invocation_id,
    )


def _listener_said(listening: bool, pid: int | None) -> str:
    if pid is not None:
        return f"process {pid} of {unit_of(pid) or 'no unit'}"
    return "a process that does not show" if listening else "nobody"


def _fired_up(entries: tuple[Entry, ...]) -> int:
    return entries[-1].realtime


def _meminfo_is_shared() -> bool:
    """In a container, unless something is mounted over the file, as lxcfs does in LXC."""
    mounted = any(line.split()[4] == "/proc/meminfo" for line in text_of("/proc/self/mountinfo").splitlines())
    return Path("/run/systemd/container").exists() and not mounted


def _oom_kills(control_group: str | None) -> int | None:
    for mount in CGROUP2_MOUNTS if control_group else ():
        match = _OOM_KILLS.search(text_of(mount / str(control_group).lstrip("/") / "memory.events"))
        if match:
            return int(match.group(1))
    return None
