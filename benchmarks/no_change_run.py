# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run costs that has nothing to do: tasks and lines shown, round trips, wall time, and the controller's processor time. Ends with 1 beyond a limit.

The host is a test host dressed as the design host, with the engine double deployed. A round trip is one call of the connection's exec_command,
put_file or fetch_file. Wall time is compared with a play that only gathers the same facts, in turn, so that what else the machine does falls on both.
Processor time is that of one further host among sixteen, compared with a play of trivial tasks: a ping for each round trip, else a debug. There are as
many of them as such a run had when the limit was set: beside as many as it has now, each task saved would make the figure worse.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.blackwell.inference.tests.doubles.parts import make_parts
from ansible_collections.blackwell.inference.tests.integration.loop.machine import Machine, boot
from ansible_collections.blackwell.inference.tests.testhost import host as hosts
from ansible_collections.blackwell.inference.tests.testhost.site import this_site

RUNS = 5
HOSTS = 16
TRIVIAL_TASKS = 72
MOST_TASKS, MOST_LINES, MOST_ROUND_TRIPS, MOST_WALL, MOST_PROCESSOR = 40, 60, 6, 2.5, 1.5
FACTS = str(Path(__file__).with_name("gather_facts_only.yml"))


@dataclass(frozen=True)
class Figure:
    what: str
    value: float
    most: float

    def __str__(self) -> str:
        beyond = "" if self.value <= self.most else ", BEYOND ITS LIMIT"
        return f"{self.what}: {self.value:.4g} (at most {self.most:g}){beyond}"


@dataclass
class Fleet(Machine):
    """One machine under many names, each a host of its own to Ansible."""

    count: int = 1

    @property
    def inventory(self) -> Path:
        path = self.directory / f"inventory-{self.count}.json"
        path.write_text(json.dumps(many(self.host.inventory, self.count)), encoding="utf-8")
        return path


def many(inventory: Any, count: int) -> Any:
    """The inventory with its only host under `count` names."""
    if not isinstance(inventory, dict):
        return inventory
    return {
        key: {f"host-{number}": next(iter(value.values())) for number in range(count)}
        if key == "hosts"
        else many(value, count)
        for key, value in inventory.items()
    }


def shown_and_sent(machine: Machine, directory: Path) -> tuple[int, int, int]:
    """Tasks and lines that one run shows in which nothing has to change, and its round trips."""
    counts = directory / "round-trips"
    counts.unlink(missing_ok=True)
    environment = {"ANSIBLE_CALLBACKS_ENABLED": "count_round_trips", "ROUND_TRIPS": str(counts)}
    lines = machine.play("deploy.yml", environment=environment).expect(changed=0).text.splitlines()
    tasks = sum(line.startswith("TASK [") for line in lines)
    return tasks, len(lines), len(counts.read_text(encoding="utf-8").splitlines())


def seconds(machine: Machine, playbook: str) -> float:
    began = time.monotonic()
    machine.play(playbook).expect(changed=0)
    return time.monotonic() - began


def processor_seconds(machine: Machine, playbook: str, count: int) -> float:
    """Of the play's processes on the controller; what the hosts compute is not among them."""
    fleet = Fleet(machine.host, machine.directory, machine.variables, count=count)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    played = fleet.play(playbook)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if played.returncode != 0:
        raise AssertionError(played.text[-4000:])
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def one_more_host(machine: Machine, playbook: str) -> float:
    few, all_of_them = (processor_seconds(machine, playbook, count) for count in (1, HOSTS))
    return (all_of_them - few) / (HOSTS - 1)


def trivial_play(directory: Path, round_trips: int) -> str:
    listed = [{"name": "Ping", "ansible.builtin.ping": {}}] * round_trips
    listed += [{"name": "Say nothing", "ansible.builtin.debug": {"msg": "nothing"}}] * (TRIVIAL_TASKS - round_trips)
    path = directory / "trivial.yml"
    play = {"hosts": "inference", "gather_facts": False, "vars": {"ansible_pipelining": True}, "tasks": listed}
    path.write_text(json.dumps([play]), encoding="utf-8")
    return str(path)


def figures(machine: Machine, directory: Path) -> list[Figure]:
    tasks, lines, trips = shown_and_sent(machine, directory)
    whole, facts = [], []
    for _run in range(RUNS):
        whole.append(seconds(machine, "deploy.yml"))
        facts.append(seconds(machine, FACTS))
    trivial = trivial_play(directory, trips)
    processor = one_more_host(machine, "deploy.yml") / one_more_host(machine, trivial)
    return [
        Figure("tasks shown by a run without a change", tasks, MOST_TASKS),
        Figure("lines of its output", lines, MOST_LINES),
        Figure("its round trips", trips, MOST_ROUND_TRIPS),
        Figure(
            f"its wall time against a play that only gathers its facts ({RUNS} runs each, medians)",
            statistics.median(whole) / statistics.median(facts),
            MOST_WALL,
        ),
        Figure(
            f"the controller's processor time for each of {HOSTS} hosts against {TRIVIAL_TASKS} trivial tasks",
            processor,
            MOST_PROCESSOR,
        ),
    ]


def main() -> int:
    site = this_site()
    hosts.gc(site)
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        directory.chmod(0o755)
        machine = boot(site, "benchmark", make_parts(directory / "srv"), directory)
        try:
            machine.play("deploy.yml").expect()
            found = figures(machine, directory)
        finally:
            hosts.down(machine.host)
    for figure in found:
        print(figure)
    return 0 if all(figure.value <= figure.most for figure in found) else 1


if __name__ == "__main__":
    sys.exit(main())
