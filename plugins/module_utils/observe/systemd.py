# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What systemd says of a unit. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Callable

from ..core.errors import ObservationError

Run = Callable[[Sequence[str]], tuple[int, str, str]]
"""Runs a command and returns (exit status, stdout, stderr); `AnsibleModule.run_command` is one."""


class SystemdSilent(ObservationError):
    """systemctl ended badly."""


PROPERTIES = (
    "ActiveState",
    "ControlGroup",
    "DropInPaths",
    "FragmentPath",
    "InvocationID",
    "LoadState",
    "MainPID",
    "MemoryCurrent",
    "NeedDaemonReload",
    "NRestarts",
    "Result",
    "SubState",
    "UnitFileState",
)


@dataclass(frozen=True)
class UnitState:
    """A unit as systemd has it loaded; a unit that nobody installed has load_state `not-found`.

    `drop_ins` are those of this unit alone. What changes all services at once (`service.d`, which LXC images ship) or all that share a prefix
    (`sglang-.service.d`) is the host's own.
    """

    name: str
    load_state: str
    active_state: str
    sub_state: str
    unit_file_state: str
    fragment_path: str | None
    drop_ins: tuple[str, ...]
    need_daemon_reload: bool
    main_pid: int
    invocation_id: str | None
    result: str
    n_restarts: int
    control_group: str | None
    cgroup_memory_bytes: int | None

    @property
    def running(self) -> bool:
        """A process of the unit's own exists, whether it is still starting or not."""
        return self.main_pid > 0 and self.active_state in ("active", "activating", "reloading", "deactivating")

    def as_dict(self) -> dict[str, Any]:
        return dict(asdict(self), drop_ins=list(self.drop_ins))


def show_properties(run: Run, unit: str, names: Sequence[str]) -> dict[str, str]:
    """Properties of a unit by `systemctl show` (systemd 247 and later). Raises SystemdSilent when systemd does not answer."""
    status, out, err = run(["systemctl", "show", unit, "--no-pager", "--property", ",".join(names)])
    if status != 0:
        raise SystemdSilent(
            f"systemctl show {unit} ended with status {status}: {err.strip() or 'no message'}. "
            "A host that runs systemd as PID 1 was expected; run this on one, as a user who may talk to it."
        )
    return dict(line.split("=", 1) for line in out.splitlines() if "=" in line)


def unit_state(run: Run, unit: str) -> UnitState:
    """The state of `unit`, asked in one call. Raises ObservationError when systemd does not answer."""
    properties = show_properties(run, unit, PROPERTIES)
    return UnitState(
        name=unit,
        load_state=properties.get("LoadState", ""),
        active_state=properties.get("ActiveState", ""),
        sub_state=properties.get("SubState", ""),
        unit_file_state=properties.get("UnitFileState", ""),
        fragment_path=properties.get("FragmentPath") or None,
        drop_ins=tuple(
            path for path in properties.get("DropInPaths", "").split() if path.split("/")[-2:-1] == [f"{unit}.d"]
        ),
        need_daemon_reload=properties.get("NeedDaemonReload") == "yes",
        main_pid=_whole(properties.get("MainPID")) or 0,
        invocation_id=properties.get("InvocationID") or None,
        result=properties.get("Result", ""),
        n_restarts=_whole(properties.get("NRestarts")) or 0,
        control_group=properties.get("ControlGroup") or None,
        cgroup_memory_bytes=_whole(properties.get("MemoryCurrent")),
    )


def _whole(text: str | None) -> int | None:
    """systemd prints what it cannot account as `[not set]`, or as 2^64 - 1 before version 252."""
    if text is None or not text.isdigit() or int(text) == 2**64 - 1:
        return None
    return int(text)
