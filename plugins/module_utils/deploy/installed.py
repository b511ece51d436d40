# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files, Python environments, users and packages as they are on the host. Private to the collection, may change any time."""

from __future__ import annotations

import grp
import json
import os
import pwd
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

from ..core.errors import ObservationError
from ..observe.files import text_of
from ..observe.systemd import Run

MARKER = "Ansible managed: blackwell.inference"


@dataclass(frozen=True)
class WantedFile:
    """A file as it should be; `mode` is octal text as Ansible's file modules take it."""

    name: str
    path: str
    content: str
    kind: str
    owner: str
    group: str
    mode: str


@dataclass(frozen=True)
class WantedDirectory:
    """A directory as it should be."""

    path: str
    owner: str
    group: str
    mode: str


def is_foreign(wanted: WantedFile) -> bool:
    """Whether somebody else wrote the file on the host: those of ours that people may have made by hand before say whose they are."""
    found = text_of(wanted.path)
    return MARKER in wanted.content and bool(found) and MARKER not in found


def file_differences(wanted: WantedFile) -> tuple[str, ...]:
    """In what the file on the host differs from the wanted one: absent, type, content, owner, group, mode; empty when in nothing."""
    try:
        return _file_differences(wanted)
    except PermissionError as denied:
        raise ObservationError(
            f"{wanted.path} cannot be read: permission denied. A user who may read it was expected; run this as root, for example with become."
        ) from denied


def _file_differences(wanted: WantedFile) -> tuple[str, ...]:
    found = _differences(wanted, stat.S_ISREG)
    if found in (("absent",), ("type",)):
        return found
    return (*(() if Path(wanted.path).read_bytes() == wanted.content.encode() else ("content",)), *found)


def directory_differences(wanted: WantedDirectory) -> tuple[str, ...]:
    """The same of a directory, without its content: absent, type, owner, group, mode."""
    return _differences(wanted, stat.S_ISDIR)


def _differences(wanted: WantedFile | WantedDirectory, right_type: Callable[[int], bool]) -> tuple[str, ...]:
    """By names: a group that was deleted, and made anew under another number, differs."""
    try:
        status = Path(wanted.path).lstat()
    except FileNotFoundError:
        return ("absent",)
    if not right_type(status.st_mode):
        return ("type",)
    seen = {
        "owner": user_name(status.st_uid) == wanted.owner,
        "group": _group(status.st_gid) == wanted.group,
        "mode": stat.S_IMODE(status.st_mode) == int(wanted.mode, 8),
    }
    return tuple(name for name, same in seen.items() if not same)


def read_record(path: Path) -> Any | None:
    """A JSON record of an earlier run; a missing one and one that a killed run left half-written are both none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def environment_state(path: str, requirements: Mapping[str, str]) -> dict[str, Any]:
    """What a Python environment lacks of its pinned requirements, by the metadata folders that pip wrote."""
    installed = installed_distributions(Path(path))
    wanted = {normalised(name): version for name, version in requirements.items()}
    missing = {name: version for name, version in wanted.items() if name not in installed}
    differs = {
        name: installed[name] for name, version in wanted.items() if name in installed and installed[name] != version
    }
    exists = os.access(os.path.join(path, "bin", "python"), os.X_OK)
    return {
        "path": path,
        "exists": exists,
        "complete": exists and not missing and not differs,
        "missing": missing,
        "differs": differs,
    }


def installed_distributions(environment: Path) -> dict[str, str]:
    """Distributions of a virtual environment by normalised name, with their versions. A folder without RECORD is an installation that was cut off."""
    folders = environment.glob(f"lib/{_python_name(environment)}/site-packages/*.dist-info")
    return distributions_of_listing(folder.name for folder in folders if (folder / "RECORD").exists())


def _python_name(environment: Path) -> str:
    """The folder that the environment's interpreter looks into; an upgrade of the host may have put another version behind the same link."""
    name = os.path.basename(os.path.realpath(environment / "bin" / "python"))
    return name if re.fullmatch(r"python3\.\d+", name) else "python3*"


def distributions_of_listing(names: Iterable[str]) -> dict[str, str]:
    """Distributions by normalised name, with their versions, from the names of what lies in a site-packages folder."""
    found: dict[str, str] = {}
    for folder in names:
        if folder.endswith(".dist-info"):
            name, _dash, version = folder[: -len(".dist-info")].rpartition("-")
            found[normalised(name)] = version
    return found


def normalised(name: str) -> str:
    """A distribution's name as the packaging standards compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def missing_users(names: Sequence[str]) -> tuple[str, ...]:
    known = {entry.pw_name for entry in pwd.getpwall()}
    return tuple(name for name in names if name not in known)


def missing_packages(run: Run, names: Sequence[str]) -> tuple[str, ...]:
    """Debian packages that are not installed; all of them where dpkg itself does not answer."""
    if not names:
        return ()
    _status, out, _err = run(["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\n", *names])
    installed = {line.split()[0] for line in out.splitlines() if line.endswith(" installed")}
    return tuple(name for name in names if name not in installed)


def user_name(uid: int) -> str:
    """The number where it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _group(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
