# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An installation that outlives the call that began it, so that calls can say how far it is. Private to the collection, may change any time.

Below /run lie what runs (`process`), what pip says (`log`) and how it ended (`status`). A play that was killed leaves its installation running;
the next one finds it there and waits for it, if it is one of the same lock, and ends it if it is not.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.errors import ObservationError

RUNNING, DONE, FAILED = "running", "done", "failed"
_PROC = Path("/proc")
_RUN = Path("/run/blackwell-inference")
_END_SECONDS = 10
_UNITS = {"bytes": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}
_DOWNLOADING = re.compile(r"^\s*(?:Downloading|Using cached) \S+ \(([0-9.]+) (bytes|kB|MB|GB)\)", re.MULTILINE)
_COLLECTED = re.compile(r"^(?:Collecting|Processing) ", re.MULTILINE)


@dataclass(frozen=True)
class Installation:
    """An environment to be made at `path` of what `requirements`, a file on this host, pins."""

    path: Path
    requirements: Path
    python: str
    wheels: str = ""
    proc: Path = _PROC
    run: Path = _RUN

    @property
    def directory(self) -> Path:
        return self.run / f"installing-{str(self.path).strip('/').replace('/', '-')}"

    @property
    def command(self) -> str:
        """One shell command, so that how it ended is written down by whoever sees it."""
        pip = [str(self.path / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
        pip += ["--require-hashes", "--no-deps", "--only-binary=:all:", "--requirement", str(self.requirements)]
        pip += ["--no-index", "--find-links", self.wheels] if self.wheels else []
        make = [*shlex.split(self.python), "-m", "venv", str(self.path)]
        status = shlex.quote(str(self.directory / "status"))
        return f"{shlex.join(make)} && {shlex.join(pip)}; echo $? >{status}.new; mv {status}.new {status}"

    def begin(self) -> None:
        """Goes on with what an earlier call began, or begins anew."""
        text = self.requirements.read_text(encoding="utf-8")
        earlier = self._earlier()
        if earlier and _lives(earlier, self.proc):
            if earlier.get("requirements") == text and earlier.get("command") == self.command:
                return
            _end(earlier, self.proc)
        shutil.rmtree(self.directory, ignore_errors=True)
        shutil.rmtree(self.path, ignore_errors=True)
        self.run.mkdir(mode=0o700, exist_ok=True)
        self.directory.mkdir(mode=0o700)
        # run_command waits for the end of what it starts, which takes minutes here.
        pid = os.posix_spawn(  # pylint: disable=ansible-bad-function
            "/bin/sh",
            ["/bin/sh", "-c", f"cd /; {self.command}"],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(self.directory / "log"), os.O_WRONLY | os.O_CREAT, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,  # so that it outlives the connection
        )
        process = {
            "pid": pid,
            "start_ticks": _start_ticks(pid, self.proc),
            "began": time.time(),
            "command": self.command,
            "requirements": text,
        }
        (self.directory / "process").write_text(json.dumps(process), encoding="utf-8")

    def look(self) -> dict[str, Any]:
        """How far it is. `state` is running, done or failed; `reason` are pip's last lines if it failed."""
        process = self._earlier() or {}
        # Before the status: what ended in between has written one.
        lives = _lives(process, self.proc)
        status, log = _text(self.directory / "status").strip(), _text(self.directory / "log")
        state = RUNNING if not status and lives else DONE if status == "0" else FAILED
        return {
            "state": state,
            "elapsed_seconds": max(0.0, time.time() - float(process.get("began", time.time()))),
            **progress(log, _text(self.requirements)),
            "installed_bytes": installed_bytes(self.path),
            "reason": _last_lines(log) if state == FAILED else None,
        }

    def finish(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)

    def _earlier(self) -> dict[str, Any] | None:
        try:
            found = json.loads(_text(self.directory / "process"))
        except ValueError:
            return None
        return found if isinstance(found, dict) else None


def watch(installation: Installation, observe_seconds: float) -> dict[str, Any]:
    """A look when it has ended, or after so many seconds."""
    until = time.monotonic() + observe_seconds
    while True:
        seen = installation.look()
        if seen["state"] != RUNNING or time.monotonic() >= until:
            return seen
        time.sleep(0.5)


def progress(log: str, requirements: str) -> dict[str, int]:
    """Distributions that pip has come to, of those that are pinned, and the bytes that it fetched or is fetching (pip 22 to 26)."""
    fetched = sum(float(size) * _UNITS[unit] for size, unit in _DOWNLOADING.findall(log))
    total = len(re.findall(r"^[A-Za-z0-9][^=\s]*==", requirements, re.MULTILINE))
    return {
        "collected": min(total, len(_COLLECTED.findall(log))),
        "total": total,
        "fetched_bytes": round(fetched),
        "installing": int("Installing collected packages" in log),
    }


def installed_bytes(path: Path) -> int:
    """What lies in the environment by now; files that come and go meanwhile are passed over."""
    size, waiting = 0, [path]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
                    else:
                        size += entry.stat(follow_symlinks=False).st_size
        except OSError:
            continue
    return size


def _start_ticks(pid: int, proc: Path) -> int | None:
    """None for a process that is gone, or that ended and waits for its parent."""
    _name, _bracket, rest = _text(proc / str(pid) / "stat").rpartition(")")
    fields: Sequence[str] = rest.split()
    return None if len(fields) < 20 or fields[0] in "ZX" else int(fields[19])


def _lives(process: dict[str, Any], proc: Path) -> bool:
    """By its pid and its start: another process may have the pid by now."""
    pid = process.get("pid")
    return isinstance(pid, int) and (found := _start_ticks(pid, proc)) is not None and found == process["start_ticks"]


def _end(process: dict[str, Any], proc: Path) -> None:
    """The session that we began, and nothing else: its leader was just seen to be ours."""
    try:
        os.killpg(process["pid"], signal.SIGTERM)
    except ProcessLookupError:
        return
    until = time.monotonic() + _END_SECONDS
    while _lives(process, proc):
        if time.monotonic() >= until:
            raise ObservationError(
                f"Process {process['pid']} installs what another lock pins, and did not end within {_END_SECONDS} s of SIGTERM. "
                "Wait until it is gone, or end it, and run this again."
            )
        time.sleep(0.1)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _last_lines(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return " ".join(lines[-3:]) or "nothing was said"
