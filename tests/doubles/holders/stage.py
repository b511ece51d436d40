# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A test host with eight GPUs, and processes on it that hold them: as users, units, sessions and namespaces make them.

All of them go with the host. What a holder prints lies in /run/holders/NAME.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ...testhost import cgroup
from ...testhost import host as hosts
from ...testhost.host import Host
from ...testhost.site import Site
from ..nvml.description import gpus, load
from ..nvml.dress import dress
from ..nvml.nodes import CANDIDATES, Number, openable
from .build import build

MACHINE = "rtx-pro-6000-server-8x"
SUITE = "trixie"
USER = "sglang"
OTHER_USER = "other"
MARK = {"BLACKWELL_INSTANCE": "kimi"}
PROGRAMS = Path("/opt/holders")
OUTPUT = Path("/run/holders")
GIB = 1 << 30
MAPPABLE: Number = (1, 5)
SECONDS = 20.0

MINORS = [int(gpu["minor"]) for gpu in gpus(load(MACHINE))]
"""Of each GPU, by its index: the number in the name of its node."""
MAPPABLE_GPU = 4
CLIENT = ("/dev/nvidiactl", "/dev/nvidia-uvm")
"""What every process with a context has open beside its GPU's own node."""

Command = tuple[str, ...]


def node(gpu: int) -> str:
    return f"/dev/nvidia{MINORS[gpu]}"


def holder(*arguments: str, name: str = "holder") -> Command:
    return (str(PROGRAMS / name), *arguments)


def context(gpu: int, *more: str, gib: int = 2, name: str = "holder") -> Command:
    """A process with a context on a GPU, and memory."""
    opened = [word for path in (node(gpu), *CLIENT) for word in ("--open", path)]
    return holder(*opened, *(["--memory", f"{gpu}:{gib * GIB}"] if gib else []), *more, name=name)


def watcher(gpu: int) -> Command:
    """A process that has descriptors and nothing else, as programs that read temperatures do."""
    return holder("--open", node(gpu), "--open", CLIENT[0])


def as_user(user: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> Command:
    marks = [f"{name}={value}" for name, value in (environment or {}).items()]
    return ("env", *marks, "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--", *command)


def ours(command: Sequence[str]) -> Command:
    return as_user(USER, command, MARK)


def under_a_parent(command: Sequence[str]) -> Command:
    """With a shell above that waits for it, as a launcher does."""
    return ("sh", "-c", '"$@"; exit $?', "sh", *command)


def again_and_again(command: Sequence[str]) -> Command:
    """Under a supervisor that starts it once more whenever it ends."""
    return ("sh", "-c", 'while :; do "$@"; sleep 0.2; done', "sh", *command)


def in_scope(name: str, command: Sequence[str]) -> Command:
    return ("systemd-run", "--quiet", "--scope", "--collect", f"--unit={name}", "--", *command)


def in_pid_namespace(command: Sequence[str]) -> Command:
    """/proc stays the host's, as what it prints is to be the pid that the host knows."""
    return ("unshare", "--pid", "--fork", "--kill-child", *under_a_parent(command))


def with_own_nodes(folder: str, gpu: int, command: Sequence[str]) -> Command:
    """In a mount namespace of its own, with nodes of the same numbers at FOLDER/card, FOLDER/ctl and FOLDER/uvm."""
    make = 'mount -t tmpfs -o mode=0755 none "$0" && cp -a "$1" "$0/card" && cp -a "$2" "$0/ctl" && cp -a "$3" "$0/uvm" && shift 3 && exec "$@"'
    return ("unshare", "--mount", "sh", "-c", make, folder, node(gpu), *CLIENT, *command)


@dataclass(frozen=True)
class Stage:
    host: Host
    directory: Path

    @property
    def root(self) -> Path:
        """The host's files as its own PID 1 sees them, to look at from outside."""
        return Path(f"/proc/{cgroup.leader(self.host.cgroup)}/root")

    @property
    def inventory(self) -> Path:
        path = self.directory / "inventory.json"
        path.write_text(json.dumps(self.host.inventory), encoding="utf-8")
        return path

    def shell(self, script: str) -> str:
        """Runs in a session of root's, as an operator would; a failure is an error."""
        done = subprocess.run(
            [*self.host.ssh, "sh", "-eu"], input=script, capture_output=True, text=True, timeout=60, check=False
        )
        if done.returncode:
            raise AssertionError(f"On the host ended with {done.returncode}: {done.stderr}\n{script}")
        return done.stdout

    def start(self, commands: Mapping[str, Sequence[str]]) -> dict[str, int]:
        """Start all, each in the background, and give their pids as the host knows them, once they hold what they are to hold."""
        lines = [
            f"setsid {shlex.join(command)} >{OUTPUT}/{name} 2>&1 </dev/null &" for name, command in commands.items()
        ]
        self.forget(commands)
        self.shell("\n".join([*lines, ""]))
        return self.pids(commands)

    def start_unit(self, unit: str, name: str, command: Sequence[str], settings: Mapping[str, str]) -> int:
        """A service, without its suffix, whose process is the holder `name`. Its file goes with the next boot."""
        lines = {
            "ExecStart": systemd_words(command),
            "User": USER,
            "StandardOutput": f"append:{OUTPUT}/{name}",
            **settings,
        }
        self.forget([name])
        written = shlex.quote("\n".join(["[Service]", *(f"{key}={value}" for key, value in lines.items()), ""]))
        self.shell(
            f"printf %s {written} >/run/systemd/system/{unit}.service; systemctl daemon-reload; systemctl start {unit}"
        )
        return self.pid(name)

    def forget(self, names: Iterable[str]) -> None:
        for name in names:
            (self.root / OUTPUT.relative_to("/") / name).unlink(missing_ok=True)

    def pids(self, names: Iterable[str], which: int = 0) -> dict[str, int]:
        return {name: self.pid(name, which) for name in names}

    def pid(self, name: str, which: int = 0) -> int:
        """That the holder said; those that are started again say one each time."""
        path = self.root / OUTPUT.relative_to("/") / name
        deadline = time.monotonic() + SECONDS
        while True:
            said = path.read_text(encoding="utf-8") if path.exists() else ""
            lines = said.splitlines() if said.endswith("\n") else []
            if len(lines) > which or (which < 0 and lines):
                if not lines[which].isdigit():
                    raise AssertionError(f"The holder {name} could not start: {said}")
                return int(lines[which])
            if time.monotonic() > deadline:
                raise AssertionError(f"The holder {name} said nothing within {SECONDS:.0f} s: {said!r}")
            time.sleep(0.02)

    def alive(self, pids: Iterable[int]) -> set[int]:
        """Those that run, a zombie leader with live threads among them."""
        return {pid for pid in pids if any(state != "Z" for state in self.states(pid))}

    def states(self, pid: int) -> list[str]:
        """Of each task; none for a process that is gone."""
        found = []
        for stat in (self.root / "proc" / str(pid) / "task").glob("*/stat"):
            try:
                found.append(stat.read_text().rpartition(")")[2].split()[0])
            except (FileNotFoundError, ProcessLookupError):
                continue
        return found

    def outside_pids(self) -> dict[int, int]:
        """The machine's own numbers of all processes of the host, by the host's."""
        numbers = {}
        for procs in (cgroup.unified() / self.host.cgroup).rglob("cgroup.procs"):
            for pid in procs.read_text().split():
                try:
                    status = Path(f"/proc/{pid}/status").read_text()
                except (FileNotFoundError, ProcessLookupError):
                    continue
                (names,) = [line.split()[1:] for line in status.splitlines() if line.startswith("NSpid:")]
                if len(names) > 1:
                    numbers[int(names[1])] = int(names[0])
        return numbers

    def describe(self, gpu: int, **values: object) -> None:
        """Changes what the fake NVML says of a GPU; without values: back to what was described."""
        described = dict(load(MACHINE))
        described["gpus"] = [{**own, **(values if index == gpu else {})} for index, own in enumerate(described["gpus"])]
        fresh = self.root / "etc/fake-nvml.json.new"
        fresh.write_text(json.dumps(described), encoding="utf-8")
        fresh.replace(fresh.with_name("fake-nvml.json"))


def systemd_words(command: Sequence[str]) -> str:
    """In the quoting of unit files, where a dollar is doubled."""
    return " ".join(f'"{word.replace("$", "$$").replace(chr(34), chr(92) + chr(34))}"' for word in command)


def node_numbers() -> list[Number]:
    """As nodes.py chooses, but the node of one GPU can be mapped."""
    numbers = [number for number in openable(CANDIDATES) if number != MAPPABLE]
    numbers.insert(MINORS[MAPPABLE_GPU], MAPPABLE)
    return numbers


@contextmanager
def stage(site: Site, directory: Path, name: str, executables: Iterable[str]) -> Iterator[Stage]:
    """A booted host of its own, with the users that holders need, and the program under each of these names. OTHER_USER can log in, too."""
    tree = directory / "dress"
    tree.mkdir()
    dress(load(MACHINE), tree, node_numbers())
    programs = tree / "rootfs" / PROGRAMS.relative_to("/")
    programs.mkdir(parents=True)
    for executable in {"holder", *executables}:
        shutil.copy(build(), programs / executable)
    pid = os.getpid()
    host = hosts.up(site, f"{name}-{pid}", SUITE, dress=tree, owner_pid=pid)
    try:
        made = Stage(host, directory)
        memory = " ".join(f"/run/fake-nvml/{gpu}" for gpu in range(len(MINORS)))
        made.shell(
            f"useradd --system {USER}\nuseradd --create-home {OTHER_USER}\nmkdir {OUTPUT} /mnt/own\nmkdir -p /run/fake-nvml\n"
            f"mkdir -m 1777 {memory}\n"
            f"cp -a /root/.ssh /home/{OTHER_USER}/\nchown -R {OTHER_USER}:{OTHER_USER} /home/{OTHER_USER}/.ssh\n"
        )
        yield made
    finally:
        hosts.down(host)
