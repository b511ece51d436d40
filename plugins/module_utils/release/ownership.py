# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose a holder is: ours is only what is shown to be. Private to the collection, may change any time."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from ..core.errors import ReleaseError
from ..observe.holders.scan import UVM_NODE, Holder
from .protected import protected_program

_CLOCK_SECONDS = 1.0  # systemd and /proc tell the start of a process by different clocks
_GPU_NODE = re.compile(r"nvidia\d+")
_UNIT_NAME = re.compile(r"[\w:.\\@][\w:.\\@-]*\.(service|scope|slice)", re.ASCII)
"""Neither an option of systemctl, nor a pattern, of which it would tell of many."""


@dataclass(frozen=True)
class Gpus:
    """Those that are asked about, by the names of their nodes and by their indices in NVML."""

    nodes: frozenset[str]
    indices: frozenset[int]


@dataclass(frozen=True)
class Selection:
    """What shows that a process is ours; made by `selection`.

    `control_group`: the unit's. `running_since`: start of its main process in seconds since 1970, None when it does not run. `allow`: executables and
    units that may keep the GPUs open. `spared`: pids that are never ended, as our own and those of what started us.
    """

    unit: str | None = None
    control_group: str | None = None
    running_since: float | None = None
    uid: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    allow: tuple[str, ...] = ()
    spared: frozenset[int] = frozenset({1})


@dataclass(frozen=True)
class Judgement:
    """`owner`: "ours", "protected" or "not_ours". `blocks`: no GPU is free while this process has it.

    `tolerated`: nor does the memory that it uses count against a free GPU. `of_running_unit`: stopping the unit ends it, or
    makes it ours.
    """

    owner: str
    why: str
    blocks: bool
    tolerated: bool = False
    of_running_unit: bool = False


def selection(
    unit: str | None = None,
    control_group: str | None = None,
    running_since: float | None = None,
    uid: int | None = None,
    environment: Mapping[str, str] | None = None,
    allow: Collection[str] = (),
    spared: Collection[int] = (),
) -> Selection:
    """Raises ReleaseError for what would select too much, or can never match."""
    if uid == 0 and not environment:
        raise ReleaseError(
            "user root alone does not say what is ours: half of the host is root's. Name the unit, or the environment of the processes too."
        )
    for name in allow:
        if not (posixpath.isabs(name) or _UNIT_NAME.fullmatch(name)):
            raise ReleaseError(
                f"allow names {name}, which is neither the absolute path of an executable nor a unit: "
                "write it as /usr/bin/ollama or ollama.service."
            )
    if unit is not None and not _UNIT_NAME.fullmatch(unit):
        raise ReleaseError(f"unit is {unit}, which is no name of a unit: write it in full, as sglang-kimi.service.")
    group = control_group if control_group not in ("", "/") else None
    return Selection(unit, group, running_since, uid, dict(environment or {}), tuple(allow), frozenset(spared) | {1})


def concerns(holder: Holder, gpus: Gpus) -> bool:
    """Whether it has one of these GPUs; who shows no GPU of its own may have any."""
    nodes = {name for name in holder.devices if _GPU_NODE.fullmatch(name)}
    if not nodes and not holder.gpu_memory_bytes:
        return True
    return bool(nodes & gpus.nodes or gpus.indices & set(holder.gpu_memory_bytes))


def owner_of(holder: Holder, selected: Selection, gpus: Gpus) -> Judgement:
    """The first rule that speaks; what protects comes before what selects."""
    blocks = _has_context(holder, gpus)
    allowed = _allowed_by(holder, selected.allow)
    if allowed:
        return Judgement("protected", f"It may keep the GPUs open: allow names {allowed}.", False, True)
    program = protected_program(holder)
    if program:
        kind = program.kind
        return Judgement("protected", f"{program.text}. {kind.advice}", blocks and kind.obstacle)
    working = _works_for_unit(holder, selected)
    if working:
        ends_with_it = _is_in_unit(holder, selected) or _matches(holder, selected)
        return Judgement("protected", working, blocks, of_running_unit=ends_with_it)
    owner, why = _owner(holder, selected)
    return Judgement(owner, why, blocks)


def _works_for_unit(holder: Holder, selected: Selection) -> str | None:
    """Why it belongs to the start of the unit that runs now."""
    if selected.running_since is None or holder.started < selected.running_since - _CLOCK_SECONDS:
        return None
    if _is_in_unit(holder, selected):
        return f"It belongs to {selected.unit}, which runs: `systemctl stop {selected.unit}` ends it."
    if selected.environment and _has_environment(holder, selected):
        return (
            f"It has the environment of {selected.unit} and started since that did, so it may be at work for it: "
            f"`systemctl stop {selected.unit}` first, then release again."
        )
    return None


def _owner(holder: Holder, selected: Selection) -> tuple[str, str]:
    if holder.identity.pid in selected.spared:
        return "protected", "This task runs below it. Run the task from a process that has no GPU open."
    if _is_in_unit(holder, selected):
        return "ours", f"It is left over in the control group of {selected.unit}."
    if holder.container is not None:
        return "not_ours", _in_container(holder.container)
    if not _matches(holder, selected):
        return "not_ours", _stranger(holder)
    if holder.unit is not None and holder.unit.endswith(".service"):
        user_manager = "--user " if "/user@" in holder.identity.control_group else ""
        stop = f"`systemctl {user_manager}stop {holder.unit}`"
        return "protected", f"It belongs to {holder.unit}, which would start it again: {stop} ends it."
    return "ours", _shown_by(selected)


def _is_in_unit(holder: Holder, selected: Selection) -> bool:
    """By the group that systemd names; by the unit's name in a slice of this host where it names none, which it does not for a unit that is dead."""
    group = holder.identity.control_group
    if selected.control_group is not None:
        return f"{group}/".startswith(f"{selected.control_group.rstrip('/')}/")
    return selected.unit is not None and selected.unit in _host_units(group)


def _host_units(control_group: str) -> list[str]:
    """Units of this host's own systemd in a path: not those of a container's, nor of a user's, which may have the same names."""
    units: list[str] = []
    for part in control_group.strip("/").split("/"):
        units.append(part)
        if not part.endswith(".slice"):
            break
    return units


def _allowed_by(holder: Holder, allow: Collection[str]) -> str | None:
    names = [holder.identity.executable, *_host_units(holder.identity.control_group)]
    return next((name for name in names if name in allow), None)


def _has_context(holder: Holder, gpus: Gpus) -> bool:
    """NVML's word that it has a context counts; where NVML names other GPUs only, an open node is no context: CUDA opens more than it uses."""
    listed = set(holder.gpu_memory_bytes)
    if listed & gpus.indices:
        return True
    mapped = {name for name, how in holder.devices.items() if "mapping" in how}
    if listed:
        return bool(mapped & gpus.nodes)
    return bool(mapped) or UVM_NODE in holder.devices


def _matches(holder: Holder, selected: Selection) -> bool:
    if selected.uid is None and not selected.environment:
        return False
    return selected.uid in (None, holder.identity.uid) and _has_environment(holder, selected)


def _has_environment(holder: Holder, selected: Selection) -> bool:
    return all(holder.environment.get(name) == value for name, value in selected.environment.items())


def _shown_by(selected: Selection) -> str:
    marks = [f"runs as uid {selected.uid}"] if selected.uid is not None else []
    marks += [f"has {', '.join(selected.environment)} as given in its environment"] if selected.environment else []
    return f"It {' and '.join(marks)}."


def _in_container(container: str) -> str:
    runtime, _blank, name = container.partition(" ")
    if runtime in ("docker", "podman"):
        ends = f"`{runtime} stop {name}` ends that"
    elif runtime == "lxc":  # Proxmox VE names its containers by numbers
        ends = f"`pct stop {name}` ends that" if name.isdigit() else f"`lxc-stop --name {name}` ends that"
    else:
        ends = "what started the container ends it"
    return f"It runs in the container {container}: {ends}."


def _stranger(holder: Holder) -> str:
    where = holder.unit or "no unit"
    program = holder.identity.executable or f"a program that cannot be seen, named {holder.name}"
    return (
        f"Nothing shows that it is ours: uid {holder.identity.uid}, {where}, {program}. "
        "Ask its owner to end it, or name the executable or the unit in allow."
    )
