# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Watches a start on the host, a few seconds a call, without forgetting between calls. Private to the collection, may change any time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..observe.journald import Entry, last_entries, read_entries
from ..observe.process import listener_of
from ..observe.systemd import Run, UnitState, show_properties, unit_state
from ..sglang import api
from ..sglang.failures import explain
from ..sglang.log_lines import FIRED_UP, is_access_log, split_lines
from ..sglang.milestones import PHASES, Milestone, follow
from ..sglang.secrets import without_secrets
from .progress import Counters, Marks, count, family_of, pids_of_unit
from .readiness import FINAL, HUNG, StartSnapshot, judge_start

INTERVAL_SECONDS = 1.0
SHOWN_LINES = 25
EXPLAINING_LINES = 2000


@dataclass(frozen=True)
class Wish:
    """What is waited for."""

    unit: str
    engine: str
    server: api.Server
    stall_seconds: float
    estimate_seconds: float | None
    shards: int | None
    pinned_bytes_total: int | None


@dataclass
class Watch:
    """What is remembered from look to look; plain data, because it travels to the controller and back between two calls."""

    invocation_id: str | None = None
    restarts: int | None = None
    cursor: str | None = None
    journal_lines: int = 0
    started: int | None = None  # realtime of the first and the last entry of the start, in microseconds
    ended: int | None = None
    milestone: Milestone = field(default_factory=Milestone)
    marks: Marks = field(default_factory=Marks)
    moved_at: float | None = None
    shard_files: list[str] = field(default_factory=list)
    unpinned_bytes: int | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | None) -> Watch:
        """Data that went through JSON: keys of dictionaries have become text."""
        if not data:
            return cls()
        marks = dict(
            data["marks"],
            **{kind: {int(pid): number for pid, number in data["marks"][kind].items()} for kind in ("reads", "writes")},
        )
        return cls(**dict(data, milestone=Milestone(**data["milestone"]), marks=Marks(**marks)))


def watch_start(run: Run, wish: Wish, watch: Watch, observe_seconds: float) -> dict[str, Any]:
    """Look until the state is final or `observe_seconds` are over; returns the readiness. Raises ObservationError when the host cannot be read."""
    until = time.monotonic() + observe_seconds
    readiness = _look(run, wish, watch)
    while readiness["state"] not in FINAL and time.monotonic() + INTERVAL_SECONDS <= until:
        time.sleep(INTERVAL_SECONDS)
        readiness = _look(run, wish, watch)
    return readiness


def _look(run: Run, wish: Wish, watch: Watch) -> dict[str, Any]:
    unit = unit_state(run, wish.unit)
    if watch.restarts is None:
        watch.restarts = unit.n_restarts
    queued = watch.invocation_id is None and _start_queued(run, unit)
    if watch.invocation_id is None and unit.active_state not in ("inactive", "deactivating") and not queued:
        watch.invocation_id = unit.invocation_id
    _read_journal(watch, unit)
    counters = _count(unit)
    now = time.monotonic()
    if watch.marks.moved(_own_motion(watch, counters), watch.journal_lines) or watch.moved_at is None:
        watch.moved_at = now
    _remember(watch, counters)
    serving, api_said = _serving(wish, watch, unit)
    snapshot = StartSnapshot(
        unit=unit,
        engine=wish.engine,
        first_invocation=watch.invocation_id,
        first_restarts=watch.restarts,
        start_queued=queued,
        milestone=watch.milestone,
        serving=serving,
        api_said=api_said,
        silent_seconds=now - watch.moved_at,
        stall_seconds=wish.stall_seconds,
        elapsed_seconds=_elapsed(watch),
    )
    return _readiness(wish, watch, snapshot, counters)


def _start_queued(run: Run, unit: UnitState) -> bool:
    """A start or restart that systemd has not begun. What is seen until then is the last run, and not what is waited for."""
    return unit.active_state != "activating" and show_properties(run, unit.name, ["Job"]).get("Job", "0") not in (
        "",
        "0",
    )


def _read_journal(watch: Watch, unit: UnitState) -> None:
    """Follow the journal of the first invocation that was seen: the start that is waited for, even if systemd has begun another."""
    if watch.invocation_id is None or watch.milestone.fired_up:
        return
    entries = read_entries(watch.invocation_id, watch.cursor, enough=lambda entry: FIRED_UP in entry.message)
    if not entries:
        return
    lines = _lines(entries)
    watch.milestone = follow(watch.milestone, lines)
    watch.journal_lines += sum(not is_access_log(line) for line in lines)
    watch.cursor = entries[-1].cursor
    watch.started = watch.started or entries[0].realtime
    watch.ended = entries[-1].realtime if watch.milestone.fired_up or not unit.running else None


def _count(unit: UnitState) -> Counters:
    """A gate in ExecStartPost belongs to the unit, and polls for ever: only the family of the main process can make progress."""
    return count(family_of(unit.main_pid, pids_of_unit(unit)) if unit.main_pid else ())


def _own_motion(watch: Watch, counters: Counters) -> Counters:
    """Once the API listens, what the processes write may be answers to somebody who polls."""
    return (
        replace(counters, writes={}) if watch.milestone.phase in (PHASES["listening"], PHASES["fired_up"]) else counters
    )


def _remember(watch: Watch, counters: Counters) -> None:
    watch.shard_files = sorted(set(watch.shard_files) | set(counters.shard_files))
    if watch.unpinned_bytes is None and watch.milestone.phase == PHASES["host_pool"]:
        watch.unpinned_bytes = counters.resident_bytes


def _serving(wish: Wish, watch: Watch, unit: UnitState) -> tuple[bool, str]:
    """Ask the API only when its answer can matter: after the line that says the server is up, or when the journal no longer holds the start."""
    if not unit.running or (watch.milestone.start_seen and not watch.milestone.fired_up):
        return False, "not asked yet"
    answer = wish.server.get(api.MODELS)
    serving = api.model_list(answer) is not None
    if serving and not watch.milestone.fired_up:
        # Another server may answer on this port while this unit has said nothing yet.
        _listening, pid = listener_of(wish.server.port)
        serving = pid in pids_of_unit(unit) and bool(api.server_info(wish.server)[1].get("max_total_num_tokens"))
    return serving, answer.said


def _readiness(wish: Wish, watch: Watch, snapshot: StartSnapshot, counters: Counters) -> dict[str, Any]:
    state, template = judge_start(snapshot)
    shown: list[str] = []
    reason = None
    if template is not None:
        invocation = watch.invocation_id or snapshot.unit.invocation_id
        lines = _lines(last_entries(invocation, EXPLAINING_LINES)) if invocation else []
        secrets = [wish.server.api_key] if wish.server.api_key else []
        shown = without_secrets(lines[-SHOWN_LINES:], secrets)
        why = " ".join(without_secrets([explain(lines) or _advice(state, snapshot)], secrets))
        reason = template.replace("{why}", why).strip()
    return {
        "state": state,
        "phase": snapshot.milestone.phase,
        "shards_loaded": _shards_loaded(watch, counters, snapshot.milestone),
        "shards_total": snapshot.milestone.shards_total or wish.shards,
        "pinned_bytes": _pinned(wish, watch, counters),
        "elapsed_seconds": round(snapshot.elapsed_seconds, 1),
        "estimate_seconds": wish.estimate_seconds,
        "silent_seconds": round(snapshot.silent_seconds, 1),
        "progress": {
            "journal_lines": watch.journal_lines,
            "bytes_read": sum(counters.reads.values()),
            "resident_bytes": counters.resident_bytes,
            "locked_bytes": counters.locked_bytes,
            "processes": sum(counters.commands.values()),
        },
        "reason": reason,
        "journal": shown,
        "unit_result": snapshot.unit.result,
    }


def _advice(state: str, snapshot: StartSnapshot) -> str:
    if state == HUNG:
        return (
            "Ranks that wait for each other, or a device that does not answer, look like this: see what its processes do "
            f"(py-spy dump --pid {snapshot.unit.main_pid}), check NCCL's settings and the kernel log, then restart the unit."
        )
    return f"Its journal explains nothing; read all of it with: journalctl --unit {snapshot.unit.name}, and the kernel's with: journalctl --dmesg."


def _shards_loaded(watch: Watch, counters: Counters, milestone: Milestone) -> int:
    """From the log; while its progress bar is one unfinished line: weight files that were mapped and are no longer, or have a successor."""
    if milestone.shards_loaded or not watch.shard_files:
        return milestone.shards_loaded
    return max(0, len(watch.shard_files) - max(1, len(counters.shard_files)))


def _pinned(wish: Wish, watch: Watch, counters: Counters) -> int:
    """Locked memory where the kernel accounts it, else what became resident since the host pools were announced (drivers pin without accounting)."""
    grown = counters.resident_bytes - watch.unpinned_bytes if watch.unpinned_bytes is not None else 0
    return max(0, counters.locked_bytes, min(grown, wish.pinned_bytes_total or grown))


def _elapsed(watch: Watch) -> float:
    if watch.started is None:
        return 0.0
    return max(0.0, (watch.ended or time.time() * 1e6) - watch.started) / 1e6


def _lines(entries: tuple[Entry, ...]) -> list[str]:
    return [line for entry in entries for line in split_lines(entry.message)]
