# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays a scene on a stage: its players come on, the module looks, checks and releases, and all is cleared away."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ansible_collections.blackwell.inference.tests.doubles.holders.stage import (
    MARK,
    OTHER_USER,
    PROGRAMS,
    USER,
    Stage,
    holder,
)
from ansible_collections.blackwell.inference.tests.integration.ad_hoc import ansible, result_of
from ansible_collections.blackwell.inference.tests.integration.release.situations import (
    ANOTHER_USERS,
    DEAD_RANKS,
    ENGINE,
    MAPPED,
    Player,
    Scene,
    Shows,
)
from ansible_collections.blackwell.inference.tests.signals.tracer import Sent, signals_traced

MODULE = "blackwell.inference.gpu_release"
CLOCK_SECONDS = 1.5
"""Between an earlier start and the one that runs: start times of processes are compared with a second's tolerance."""
OURS: dict[str, Any] = {"unit": f"{ENGINE}.service", "user": USER, "environment": MARK}
PATIENCE: dict[str, Any] = {"grace_seconds": 1.5, "deadline_seconds": 30, "poll_seconds": 0.1}


def gpu_release(
    stage: Stage, state: str, *more: str, environment: dict[str, str] | None = None, **options: Any
) -> dict[str, Any]:
    """The module's result, `failed` where it failed."""
    chosen = json.dumps({**OURS, **PATIENCE, **options, "state": state})
    arguments = ["-m", MODULE, "-a", chosen, "-e", "ansible_pipelining=true", *more]
    output = ansible("inference", "-i", str(stage.inventory), *arguments, **(environment or {}))
    return {**result_of(output), "failed": "FAILED! => {" in output}


def options_of(scene: Scene) -> dict[str, Any]:
    return {"gpus": [str(gpu) for gpu in scene.selected_gpus], **scene.options}


@contextmanager
def played(stage: Stage, scene: Scene) -> Iterator[dict[str, int]]:
    """The pids of the players, by name, while they are on."""
    for gpu, values in scene.described.items():
        stage.describe(gpu, **values)
    pids: dict[str, int] = {}
    try:
        for player in scene.players:
            if player.unit:
                pids[player.name] = come_on_as_unit(stage, player)
        pids.update(stage.start({player.name: player.command for player in scene.players if not player.unit}))
        stage.start(
            {f"{player.name}-tracer": holder("--keep-from-ending", str(pids[player.name])) for player in scene.players if player.traced}
        )  # fmt: skip
        yield pids
    finally:
        clear(stage, scene)


def come_on_as_unit(stage: Stage, player: Player) -> int:
    assert player.unit
    pid = stage.start_unit(player.unit, player.name, player.command, player.settings)
    if player.left_behind:
        stage.shell(f"systemctl stop {player.unit}")
        time.sleep(CLOCK_SECONDS)
    return pid


def clear(stage: Stage, scene: Scene) -> None:
    """Every holder of the host goes, whoever started it, and what it used."""
    units = " ".join(player.unit for player in scene.players if player.unit)
    stage.shell(
        f"systemctl stop {units} || :\nsystemctl kill --signal=KILL 'holder-*.scope' 'docker-*.scope' || :\n"
        f"holders() {{ ls -l /proc/[0-9]*/task/*/exe 2>&1 | sed -n 's,.* /proc/\\([0-9]*\\)/.* -> {PROGRAMS}/.*,\\1,p'; }}\n"
        'while found=$(holders) && [ "$found" ]; do kill -KILL $found || :; sleep 0.05; done\n'
        "rm -f /run/fake-nvml/*/* /dev/shm/psm_*\nsystemctl reset-failed\n"
    )
    for gpu in scene.described:
        stage.describe(gpu)


def leave_shared_memory(stage: Stage) -> None:
    """What a dead rank of ours left, and another user's."""
    for user, path in ((USER, DEAD_RANKS), (OTHER_USER, ANOTHER_USERS)):
        # What was written just now may be on its way between two processes of a user who has others here.
        stage.shell(f"install -o {user} -m 600 /etc/hostname {path}\ntouch -d '-1 hour' {path}")


def shared_memory_of(stage: Stage) -> set[str]:
    return {path for path in (DEAD_RANKS, ANOTHER_USERS, MAPPED) if (stage.root / path.lstrip("/")).exists()}


@dataclass(frozen=True)
class Act:
    """One performance, and what was seen of it. `sent`: what the kernel saw while the module released; pids are the machine's own there."""

    scene: Scene
    pids: dict[str, int]
    listed: dict[str, Any]
    checked: dict[str, Any]
    released: dict[str, Any]
    alive_before_release: set[str]
    alive_after_release: set[str]
    shared_memory: set[str]
    sent_before_release: list[Sent]
    sent: list[Sent]
    outside: dict[int, int]

    @staticmethod
    def release(result: dict[str, Any]) -> dict[str, Any]:
        if "release" not in result:
            raise AssertionError(f"The module told nothing of the release: {result.get('msg', result)}")
        told: dict[str, Any] = result["release"]
        return told

    def of_players(self, result: dict[str, Any], key: str) -> dict[str, Any]:
        told = {holder["pid"]: holder[key] for holder in self.release(result)["holders"]}
        return {name: told.get(pid, "not listed") for name, pid in self.pids.items()}

    def selected(self, result: dict[str, Any]) -> set[str]:
        names = {pid: name for name, pid in self.pids.items()}
        return {names.get(pid, f"stranger {pid}") for pid in self.release(result)["selected"]}

    @property
    def ours(self) -> set[str]:
        return {player.name for player in self.scene.players if player.owner == "ours"}

    def leftovers(self, result: dict[str, Any]) -> dict[str, bool]:
        return {segment["path"]: segment["removed"] for segment in self.release(result)["leftovers"]}

    @property
    def named(self) -> dict[int, str]:
        """Players by the machine's pid."""
        return {self.outside[pid]: name for name, pid in self.pids.items()}

    @property
    def to_players(self) -> list[Sent]:
        """Whoever sent it but the player itself: one that is traced puts a signal back into its own queue when it is killed over it."""
        return [each for each in self.sent if each.target_pid in self.named and each.sender_pid != each.target_pid]

    def signals_of_players(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for each in self.to_players:
            found.setdefault(self.named[each.target_pid], []).append(each.name)
        return found

    def stray_signals(self) -> list[Sent]:
        """What those who signalled a player also sent, but to their own children: those are Python too."""
        killers = {each.sender_pid for each in self.to_players}
        players = set(self.named)
        return [
            each
            for each in self.sent
            if each.sender_pid in killers
            and each.target_pid not in players
            and not each.target_name.startswith("python")
        ]

    def signalled_pids(self) -> set[int]:
        """As the host knows them."""
        inside = {outside: pid for pid, outside in self.outside.items()}
        return {inside[sent.target_pid] for sent in self.sent if sent.target_pid in inside}


def perform(stage: Stage, scene: Scene) -> Act:
    """List, check and release, while the kernel's own record of signals runs."""
    options = options_of(scene)
    with played(stage, scene) as pids:
        if scene.shared_memory_left:
            leave_shared_memory(stage)
        names = {pid: name for name, pid in pids.items()}
        outside = stage.outside_pids()
        with signals_traced() as before:
            listed = gpu_release(stage, "listed", **options)
            checked = gpu_release(stage, "released", "--check", **options)
        alive_before = stage.alive(pids.values())
        with signals_traced() as trace:
            released = gpu_release(stage, "released", **options)
        alive_after = stage.alive(pids.values())
        outside = {**stage.outside_pids(), **outside}
        shared_memory = shared_memory_of(stage)
    players = {outside[pid] for pid in pids.values()}
    return Act(
        scene,
        pids,
        listed,
        checked,
        released,
        {names[pid] for pid in alive_before},
        {names[pid] for pid in alive_after},
        shared_memory,
        [each for each in before.sent() if each.target_pid in players],
        trace.sent(),
        outside,
    )


def seen(stage: Stage, pid: int) -> Shows:
    """What /proc says of a process."""
    home = stage.root / "proc" / str(pid)
    status = dict(line.split(":", 1) for line in (home / "status").read_text().splitlines())
    others = [task for task in (home / "task").iterdir() if task.name != str(pid)]
    tasks = [home, *others]
    return Shows(
        state=status["State"].split()[0],
        parent=int(status["PPid"]),
        namespace_pids=len(status["NSpid"].split()),
        nodes=nodes_of(home),
        threads_nodes=any(nodes_of(task) for task in others),
        mapped="/dev/nvidia" in (home / "maps").read_text(),
        other_mounts=link_of(tasks, "ns/mnt") != os.readlink(stage.root / "proc/1/ns/mnt"),
        executable=os.path.basename(link_of(tasks, "exe")),
        group=(home / "cgroup").read_text().strip(),
    )


def nodes_of(task: Path) -> tuple[str, ...]:
    links = (os.readlink(link) for link in sorted((task / "fd").iterdir(), key=lambda link: int(link.name)))
    return tuple(link for link in links if link.startswith(("/dev/nvidia", "/mnt/own")))


def link_of(tasks: Iterable[Path], name: str) -> str:
    """By the first task that has it: a leader that has exited has none of them."""
    for task in tasks:
        try:
            return os.readlink(task / name)
        except FileNotFoundError:
            continue
    raise AssertionError(f"No task has {name}.")


def differences(shown: Shows, wanted: Shows) -> dict[str, Any]:
    """What is wanted of it and is not so."""
    found = {}
    for name in (each.name for each in fields(Shows)):
        there, expected = getattr(shown, name), getattr(wanted, name)
        same = there.endswith(expected or "") if name == "group" else there == expected
        if expected is not None and not same:
            found[name] = there
    return found
