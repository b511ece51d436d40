# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The toolbox's libraries as wheels on the controller, each checked against the lock. Private to the collection, may change any time."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

LOCK = Path(__file__).resolve().parents[2] / "roles" / "toolbox" / "files" / "requirements.txt"
_REQUIREMENT = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>\S+)(?P<hashes>(?:\s+--hash=sha256:\w+)+)$", re.MULTILINE)
_PLATFORMS = ("manylinux_2_28", "manylinux_2_17", "manylinux2014", "manylinux_2_12", "manylinux2010")
_MACHINES = ("x86_64", "aarch64")
_OLDEST_PYTHON = (3, 9)


class WheelsError(Exception):
    """Why the wheels cannot be had, as a sentence."""


@dataclass(frozen=True)
class Requirement:
    name: str
    version: str
    hashes: frozenset[str]


@dataclass(frozen=True)
class Target:
    """The Python that the wheels are for."""

    python_version: str
    machine: str


def read_lock(text: str) -> tuple[Requirement, ...]:
    lines = re.sub(r"\\\n\s*", " ", text)
    return tuple(
        Requirement(found["name"], found["version"], frozenset(re.findall(r"sha256:(\w+)", found["hashes"])))
        for found in _REQUIREMENT.finditer(lines)
    )


def target_of(missing: Mapping[str, str]) -> Target:
    """The target of a module's `missing_libraries`; refuses those that no wheel of the lock fits."""
    version = tuple(int(part) for part in missing["python_version"].split(".")[:2])
    seen = f"{missing['implementation']} {missing['python_version']} on {missing['machine']} with {missing['libc'] or 'an unknown C library'}"
    fits = (
        missing["implementation"] == "CPython"
        and missing["libc"].startswith("glibc")
        and missing["machine"] in _MACHINES
    )
    if not fits or version < _OLDEST_PYTHON:
        raise WheelsError(
            f"The libraries cannot be brought along: the host has {seen}, and CPython 3.9 or newer on x86_64 or aarch64 with glibc was expected. "
            "Install another Python on the host and name it in ansible_python_interpreter."
        )
    return Target(".".join(str(part) for part in version), missing["machine"])


def wheels(target: Target, source: str) -> tuple[Path, ...]:
    """A wheel for each requirement of the lock, from `source` (a folder or an address), or from the cache, or downloaded into it."""
    text = LOCK.read_text(encoding="utf-8")
    requirements = read_lock(text)
    if source and Path(source).is_dir():
        return _all(requirements, target, Path(source))
    cache = _cache_root() / "toolbox-wheels" / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}-{target.machine}"
    if any(_find(requirement, target, cache) is None for requirement in requirements):
        _download(target, source, cache)
    return _all(requirements, target, cache)


def _all(requirements: tuple[Requirement, ...], target: Target, folder: Path) -> tuple[Path, ...]:
    found = {requirement: _find(requirement, target, folder) for requirement in requirements}
    lacking = " and ".join(
        f"{requirement.name} {requirement.version}" for requirement, wheel in found.items() if wheel is None
    )
    if lacking:
        raise WheelsError(
            f"The folder {folder} on the controller holds no wheel of {lacking} for {target.machine} with a hash of the lock {LOCK}. "
            "Put the wheels there that the lock names, or leave toolbox_wheels out to have them downloaded."
        )
    return tuple(wheel for wheel in found.values() if wheel is not None)


def _find(requirement: Requirement, target: Target, folder: Path) -> Path | None:
    """The hash decides; the name only tells for which machine a wheel is."""
    for wheel in sorted(folder.glob("*.whl")):
        fits = target.machine in wheel.name or wheel.name.endswith("-any.whl")
        if fits and hashlib.sha256(wheel.read_bytes()).hexdigest() in requirement.hashes:
            return wheel
    return None


def _download(target: Target, source: str, cache: Path) -> None:
    """Into a folder of its own first, so that several runs at once never see half a wheel."""
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary=:all:", "--require-hashes", "--dest", folder, "--requirement", str(LOCK)]
        command += [
            "--python-version",
            target.python_version,
            "--implementation",
            "cp",
            "--abi",
            "abi3",
            "--abi",
            "none",
        ]
        command += [option for platform in _PLATFORMS for option in ("--platform", f"{platform}_{target.machine}")]
        command += ["--no-index", "--find-links", source] if source else []
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise WheelsError(
                f"The controller could not fetch the wheels of the lock {LOCK}: {_last_line(done.stderr)}. "
                f"Give {sys.executable} pip and a package index, or name a folder that holds the wheels in the variable toolbox_wheels."
            )
        for wheel in Path(folder).glob("*.whl"):
            wheel.replace(cache / wheel.name)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("WARNING")]
    return lines[-1].rstrip(".") if lines else "pip said nothing"


def _cache_root() -> Path:
    named = os.environ.get("BLACKWELL_CACHE")
    return (
        Path(named)
        if named
        else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "blackwell-inference"
    )
