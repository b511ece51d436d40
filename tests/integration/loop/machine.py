# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host to run the loop on, and plays as an operator runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ansible_collections.blackwell.inference.tests.testhost import host as hosts
from ansible_collections.blackwell.inference.tests.testhost.host import Host
from ansible_collections.blackwell.inference.tests.testhost.site import Site

ROOT = Path(__file__).resolve().parents[3]
CALLBACKS = ROOT / "tests" / "callbacks"
DATA = ROOT / "tests" / "data"
VERSION = "0.5.9"
UNIT = "sglang-kimi.service"
MEMINFO = "/dev/shm/meminfo"
"""The host's memory, where a hardened unit may still read and write it: systemd gives such a unit a /proc without the covers.

Beside it, as `.full`, stands what the host has with no engine on it.
"""


@dataclass(frozen=True)
class Played:
    """What came of one run of a playbook."""

    returncode: int
    text: str

    @property
    def recap(self) -> dict[str, int]:
        """Counts of the only host."""
        match = re.search(r"^\S+\s+: (ok=.*)$", self.text, re.MULTILINE)
        if match is None:
            raise AssertionError(f"The play printed no recap:\n{self.text[-4000:]}")
        return {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", match.group(1))}

    @property
    def changed_tasks(self) -> list[str]:
        """Names of the tasks that reported a change, without their roles."""
        names = []
        for block in re.split(r"^TASK ", self.text, flags=re.MULTILINE)[1:]:
            if re.search(r"^changed: ", block, re.MULTILINE):
                names.append(re.sub(r"^\[(?:\S+ : )?(.*?)\] \**$", r"\1", block.splitlines()[0]))
        return names

    @cached_property
    def failure(self) -> dict[str, Any]:
        """The result of the task that failed."""
        match = re.search(r"^(?:fatal|failed): \[[^\]]*\].*?=> ", self.text, re.MULTILINE)
        if match is None:
            raise AssertionError(f"No task failed:\n{self.text[-4000:]}")
        result: dict[str, Any] = json.JSONDecoder().raw_decode(self.text, match.end())[0]
        return result

    def expect(self, *, changed: int | None = None) -> Played:
        """This run, if it went well."""
        if self.returncode != 0 or (changed is not None and self.recap["changed"] != changed):
            raise AssertionError(f"The play ended with {self.returncode}:\n{self.text[-6000:]}")
        return self


@dataclass
class Machine:
    """A test host in an inventory of its own, with the variables that an operator would set.

    `settled`: a run of deploy.yml with these variables was the last that happened to it.
    """

    host: Host
    directory: Path
    variables: dict[str, Any] = field(default_factory=dict)
    settled: bool = False

    @property
    def inventory(self) -> Path:
        path = self.directory / "inventory.json"
        path.write_text(json.dumps(self.host.inventory), encoding="utf-8")
        return path

    def play(
        self, playbook: str, *arguments: str, environment: dict[str, str] | None = None, **variables: Any
    ) -> Played:
        """Run a playbook of the collection; keyword arguments are extra variables over the machine's own."""
        settled, self.settled = self.settled, False
        done = subprocess.run(
            self.command(playbook, *arguments, **variables),
            capture_output=True,
            text=True,
            env=self.environment(environment or {}),
            check=False,
            cwd="/",
        )
        played = Played(done.returncode, done.stdout + done.stderr)
        as_ever = (playbook, arguments, variables, done.returncode) == ("deploy.yml", (), {}, 0)
        self.settled = as_ever or (settled and ("--check" in arguments or " changed=0 " in played.text))
        return played

    def command(self, playbook: str, *arguments: str, **variables: Any) -> list[str]:
        chosen = json.dumps({**self.variables, **variables})
        program = str(Path(sys.executable).with_name("ansible-playbook"))
        return [
            program,
            "--inventory",
            str(self.inventory),
            "--extra-vars",
            chosen,
            *arguments,
            str(ROOT / "playbooks" / playbook),
        ]

    def environment(self, extra: dict[str, str]) -> dict[str, str]:
        return {
            **os.environ,
            "ANSIBLE_CONFIG": str(ROOT / "tests" / "ansible.cfg"),
            "ANSIBLE_COLLECTIONS_PATH": os.environ.get("ANSIBLE_COLLECTIONS_PATH", str(ROOT / ".tree")),
            "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
            "ANSIBLE_NOCOLOR": "1",
            **extra,
        }

    def settle(self) -> None:
        """A run that puts right what the test before left; none when it left it so."""
        if not self.settled:
            self.play("deploy.yml").expect()

    def spoil(self, script: str) -> None:
        """Change the host behind the back of the plays."""
        self.settled = False
        self.run("sh", "-c", script)

    def forget_instance(self) -> None:
        """Back to a host without the instance; the environments stay where a test does not ask for their making.

        Its described memory is whole again then: where systemd has only version 1 of control groups it kills at the end of a stop what is left of a
        unit, and the process too that would give back in the kernel's stead.
        """
        self.spoil(
            f"systemctl disable --now {UNIT} 2>/dev/null; rm -rf /etc/sglang /etc/systemd/system/{UNIT}* /var/lib/blackwell-inference"
            f" /usr/local/lib/blackwell-inference; systemctl daemon-reload; userdel sglang 2>/dev/null; cat {MEMINFO}.full >{MEMINFO}"
        )

    def run(self, *argv: str) -> str:
        """Run a program on the host as root and return what it printed. What changes something goes by `spoil`."""
        done: subprocess.CompletedProcess[str] = self.host.execute(*argv)
        return done.stdout

    def show(self, unit: str, *properties: str) -> dict[str, str]:
        lines = self.run("systemctl", "show", unit, f"--property={','.join(properties)}").splitlines()
        return dict(line.split("=", 1) for line in lines)

    def tree(self) -> dict[str, str]:
        """Every file of the host with its mode, owner, size and time, but for what changes by itself, for Ansible's own temporary folder
        and for what the host is dressed with, which tests write to."""
        script = (
            "find / -xdev \\( -path /proc -o -path /sys -o -path /run -o -path /tmp -o -path /var/log -o -path /root/.ansible -o -path /dev"
            " -o -path /srv -o -path /usr/local/lib/testhost \\) -prune -o -type d -printf '%p d %m %U:%G\\n' -o -printf '%p %y %m %U:%G %s %T@ %l\\n'"
        )
        return dict(line.split(" ", 1) for line in self.run("sh", "-c", script).splitlines())


def boot(site: Site, name: str, parts: Path, directory: Path) -> Machine:
    """A host that looks like the design host and can install the engine double."""
    pid = os.getpid()
    dress = DATA / "hosts" / "design-host.json"
    host = hosts.up(site, f"{name}-{pid}", "bookworm", owner_pid=pid, dress=dress, binds=[f"{parts}:/srv"])
    describe_memory(host)
    variables = {
        "inference_profile": "kimi-k2.5",
        "inference_sglang_wheels": "/srv/wheels",
        # The double compiles nothing; a compiler would be most of what a fresh host has to install.
        "sglang_runtime_packages": ["python3-venv", "python3-packaging", "libnuma1"],
        "inference_sglang_lock": str(parts / "wheels" / f"requirements-{VERSION}.txt"),
        "inference_environment": {"ENGINE_DOUBLE_MEMINFO": MEMINFO, "ENGINE_DOUBLE_SECONDS": "2"},
    }
    return Machine(host, directory, variables)


def describe_memory(host: Host) -> None:
    """Show the host's described memory from where the engine double may take of it; to be done again after a boot."""
    host.execute(
        "sh",
        "-c",
        f"cp /proc/meminfo {MEMINFO} && cp {MEMINFO} {MEMINFO}.full && chmod 666 {MEMINFO} && mount --bind {MEMINFO} /proc/meminfo",
    )
