# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The true state of one instance compared with the wanted one, and what other inference servers hold. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.errors import ObservationError
from ..observe.files import text_of
from ..observe.process import CGROUP2_MOUNTS, PROC, environment_of, listener_of, pids_of_cgroup, unit_of
from ..observe.systemd import Run, UnitState, unit_state
from ..wait.progress import count
from . import installed
from .installed import read_record
from .start_digest import DIGEST_VARIABLE, KINDS, InputChange, changes, holds_secret, start_digest

STATE_DIRECTORY = Path("/var/lib/blackwell-inference")
_PATTERN = "system.slice/sglang-*.service"


def other_engines(
    unit: str, state_directory: Path = STATE_DIRECTORY, mounts: tuple[Path, ...] = CGROUP2_MOUNTS, proc: Path = PROC
) -> dict[str, int]:
    """Bytes of host memory by unit, of every `sglang-*.service` with processes but `unit`, sorted by name.

    Each counts with what its processes hold, or with what its plan says where that is more: it may still be loading, and
    memory that the driver pins need not show in any process.
    """
    groups = {path.name: path.relative_to(mount) for mount in mounts for path in mount.glob(_PATTERN)}
    found: dict[str, int] = {}
    for name in sorted(set(groups) - {unit}):
        pids = pids_of_cgroup(str(groups[name]), mounts)
        if pids:
            memory = count(pids, proc).memory
            held = memory.get("anonymous", 0) + memory.get("shared", 0)
            found[name] = max(held, _planned_bytes(name, state_directory))
    return found


def _planned_bytes(unit: str, state_directory: Path) -> int:
    """What the other's recorded plan takes of the host; 0 where nobody planned it, or its record cannot be read."""
    plan = read_record(state_directory / unit[len("sglang-") : -len(".service")] / "plan.json")
    try:
        return sum(int(line["size_bytes"]) for line in plan["host"]["lines"]) if plan else 0
    except (KeyError, TypeError, ValueError):
        return 0


RECORDS = ("plan", "verdict", "calibration")


@dataclass(frozen=True)
class Wanted:
    """What is asked about; every part may be empty."""

    unit: str
    port: int | None
    state_directory: Path
    started_directory: Path
    files: tuple[installed.WantedFile, ...]
    environments: tuple[Mapping[str, Any], ...]
    users: tuple[str, ...]
    packages: tuple[str, ...]
    directories: tuple[installed.WantedDirectory, ...] = ()


def read_deployment(run: Run, wanted: Wanted) -> dict[str, Any]:
    """Everything that decides what a run has to do, read in one go. Raises ObservationError when systemd does not answer."""
    unit = unit_state(run, wanted.unit)
    differing = {file.name: installed.file_differences(file) for file in wanted.files}
    folders = {folder.path: installed.directory_differences(folder) for folder in wanted.directories}
    return {
        "unit": unit.as_dict(),
        "files": [
            {"name": file.name, "path": file.path, "differs": list(differing[file.name])} for file in wanted.files
        ],
        "secret_files": [file.name for file in wanted.files if _holds_secret(file)],
        "foreign_files": [
            file.name for file in wanted.files if "content" in differing[file.name] and installed.is_foreign(file)
        ],
        "differing_files": [name for name, differs in differing.items() if differs],
        "directories": [{"path": path, "differs": list(differs)} for path, differs in folders.items()],
        "differing_directories": [path for path, differs in folders.items() if differs],
        "process": {"pid": unit.main_pid, "running": unit.running},
        "restart": _restart(unit, wanted),
        "environments": [
            installed.environment_state(entry["path"], entry["requirements"]) for entry in wanted.environments
        ],
        "missing_users": list(installed.missing_users(wanted.users)),
        "missing_packages": list(installed.missing_packages(run, wanted.packages)),
        "port": _port(wanted.port, wanted.unit),
        "other_engines": [
            {"unit": name, "memory_bytes": size}
            for name, size in other_engines(wanted.unit, wanted.state_directory.parent).items()
        ],
        "records": {name: installed.read_record(wanted.state_directory / f"{name}.json") for name in RECORDS},
    }


def _holds_secret(file: installed.WantedFile) -> bool:
    """In what is wanted, or in what lies there now: a difference shows both."""
    return any(holds_secret(file.kind, text) for text in (file.content, text_of(file.path)))


def _restart(unit: UnitState, wanted: Wanted) -> dict[str, Any]:
    texts = {file.kind: file.content for file in wanted.files if file.kind in KINDS}
    if set(texts) != set(KINDS):
        return {"required": False, "reasons": []}
    digest = environment_of(unit.main_pid).get(DIGEST_VARIABLE) if unit.running else None
    reasons = start_reasons(unit, texts, _started_texts(wanted), digest)
    if unit.running:
        reasons += _package_reasons(wanted)
    return {"required": bool(reasons), "reasons": [reason.as_dict() for reason in reasons]}


def start_reasons(
    unit: UnitState, wanted: Mapping[str, str], started: Mapping[str, str], process_digest: str | None
) -> tuple[InputChange, ...]:
    """Why the engine must be started or restarted; empty when the running process was started with exactly what is wanted.

    `started` holds the copies that the unit took of its inputs when it started; `process_digest` is what the process has in its environment, which
    shows the unit that systemd had loaded at that time, whatever the file said.
    """
    if not unit.running:
        return (InputChange("process", f"{unit.name} is {unit.active_state or 'unknown'}"),)
    reasons: list[InputChange] = [
        InputChange("unit", f"the drop-in {path} changes what is started") for path in unit.drop_ins
    ]
    for kind in KINDS:
        if kind not in started:
            reasons.append(InputChange(kind, f"the {kind} that the running process was started with is not recorded"))
        else:
            reasons.extend(changes(kind, started[kind], wanted[kind]))
    if not reasons and process_digest != start_digest(wanted):
        reasons.append(InputChange("unit", "the running process was started from another unit than the file shows"))
    return tuple(reasons)


def _started_texts(wanted: Wanted) -> dict[str, str]:
    """The unit copies its inputs under their own names; a copy that is missing or unreadable is simply not known."""
    texts: dict[str, str] = {}
    for file in wanted.files:
        if file.kind in KINDS:
            try:
                texts[file.kind] = (wanted.started_directory / Path(file.path).name).read_text(encoding="utf-8")
            except (OSError, ValueError):
                continue
    return texts


def _package_reasons(wanted: Wanted) -> tuple[InputChange, ...]:
    """What lay in the engine's environment when the process was started, against the versions pinned now."""
    pins = {
        name: version
        for entry in wanted.environments
        if entry.get("engine")
        for name, version in entry["requirements"].items()
    }
    try:
        listing = (wanted.started_directory / "packages").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return ()
    started = installed.distributions_of_listing(listing)
    return tuple(
        InputChange("packages", f"{name}: {started.get(installed.normalised(name), 'none')} becomes {version}")
        for name, version in pins.items()
        if started.get(installed.normalised(name)) != version
    )


def _port(number: int | None, unit: str) -> dict[str, Any] | None:
    if number is None:
        return None
    if not 1 <= number <= 65535:
        raise ObservationError(
            f"The port is {number}; a number from 1 to 65535 was expected. Choose one in inference_port."
        )
    listening, pid = listener_of(number)
    listener_unit = unit_of(pid) if pid is not None else None
    return {
        "number": number,
        "listening": listening,
        "listener_pid": pid,
        "listener_unit": listener_unit,
        "ours": listener_unit == unit,
    }


def wanted_files(files: Sequence[Mapping[str, str]]) -> tuple[installed.WantedFile, ...]:
    """Module options as values."""
    return tuple(installed.WantedFile(**file) for file in files)


def wanted_directories(directories: Sequence[Mapping[str, str]]) -> tuple[installed.WantedDirectory, ...]:
    """The same of directories."""
    return tuple(installed.WantedDirectory(**directory) for directory in directories)
