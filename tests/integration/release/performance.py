# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays a scene on a stage: its players come on, the module looks, checks and releases, and all is cleared away."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from ansible_collections.blackwell.inference.tests.doubles.holders.stage import MARK, USER, Stage, holder
from ansible_collections.blackwell.inference.tests.integration.release.situations import ENGINE, Player, Scene, Shows
from ansible_collections.blackwell.inference.tests.testhost.site import CHECKOUT

MODULE = "blackwell.inference.gpu_release"
CLOCK_SECONDS = 1.5
"""Between an earlier start and the one that runs: start times of processes are compared with a second's tolerance."""
OURS: dict[str, Any] = {"unit": f"{ENGINE}.service", "user": USER, "environment": MARK}
PATIENCE: dict[str, Any] = {"grace_seconds": 1.5, "deadline_seconds": 30, "poll_seconds": 0.1}


def ansible(inventory: Path, *arguments: str, environment: dict[str, str] | None = None) -> str:
    """What an ad-hoc call on the host prints; how it went is told by that."""
    settings = {
        "ANSIBLE_CONFIG": str(CHECKOUT / "tests/ansible.cfg"),
        "ANSIBLE_COLLECTIONS_PATH": str(CHECKOUT / ".tree"),
        "ANSIBLE_CALLBACK_PLUGINS": str(CHECKOUT / "tests/callbacks"),
        "ANSIBLE_NOCOLOR": "1",
    }
    done = subprocess.run(
        [str(Path(sys.executable).with_name("ansible")), "inference", "-i", str(inventory), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env={**os.environ, **settings, **(environment or {})},
    )
    return done.stdout + done.stderr


def gpu_release(
    stage: Stage, state: str, *more: str, environment: dict[str, str] | None = None, **options: Any
) -> dict[str, Any]:
    """The module's result, `failed` where it failed."""
    chosen = json.dumps({**OURS, **PATIENCE, **options, "state": state})
    arguments = ["-m", MODULE, "-a", chosen, "-e", "ansible_pipelining=true", *more]
    output = ansible(stage.inventory, *arguments, environment=environment)
    start = output.find(" => {")
    if start < 0:
        raise AssertionError(f"No result was printed:\n{output[-4000:]}")
    result: dict[str, Any] = json.JSONDecoder().raw_decode(output, start + 4)[0]
    return {**result, "failed": "FAILED! => {" in output}


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
    """Every holder of the host, whoever started it, and what it used."""
    units = " ".join(sorted({player.unit for player in scene.players if player.unit}))
    stage.shell(
        f"systemctl stop {units} 2>/dev/null || :\nsystemctl kill --signal=KILL 'holder-*.scope' 'docker-*.scope' 2>/dev/null || :\n"
        "for exe in /proc/[0-9]*/task/*/exe; do case $(readlink $exe || :) in\n"
        "  /opt/holders/*) task=${exe%/task/*}; kill -KILL ${task#/proc/} || :;;\nesac; done 2>/dev/null\n"
        "while pgrep -u sglang,other >/dev/null; do sleep 0.05; done\n"
        f"rm -f /run/fake-nvml/*/* /run/systemd/system/{ENGINE}.service\nsystemctl reset-failed\n"
    )
    for gpu in scene.described:
        stage.describe(gpu)


def leave_shared_memory(stage: Stage) -> None:
    """A dead rank's, another user's, and one that a process of ours still has mapped."""
    stage.shell(
        f"install -o sglang -m 600 /etc/hostname {DEAD_RANKS}\ninstall -o other -m 600 /etc/hostname {ANOTHER_USERS}\n"
    )


DEAD_RANKS, ANOTHER_USERS, MAPPED = "/dev/shm/psm_dead", "/dev/shm/psm_others", "/dev/shm/psm_mapped"


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


def wait_until_gone(stage: Stage, pids: Iterable[int]) -> None:
    deadline = time.monotonic() + 10
    while left := [pid for pid in pids if stage.states(pid)]:
        if time.monotonic() > deadline:
            raise AssertionError(f"Processes {left} are still there.")
        time.sleep(0.05)
