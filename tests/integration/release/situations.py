# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The situations in which GPUs stay held: who plays in them, and what is to become of each.

Scenes are played one after the other on one host. In a scene each situation has its GPU, so that they do not disturb each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ansible_collections.blackwell.inference.tests.doubles.holders.stage import (
    CLIENT,
    GIB,
    MAPPABLE_GPU,
    MARK,
    OTHER_USER,
    USER,
    Command,
    again_and_again,
    as_user,
    context,
    holder,
    in_pid_namespace,
    in_scope,
    node,
    ours,
    under_a_parent,
    watcher,
    with_own_nodes,
)

ENGINE = "sglang-kimi"
NEIGHBOUR = "sglang-qwen"
DOCKER = f"docker-{'4f0c2a9b' * 8}"
OWN_NODES = "/mnt/own"
DEAD_RANKS, ANOTHER_USERS, MAPPED = "/dev/shm/psm_dead", "/dev/shm/psm_others", "/dev/shm/psm_mapped"


@dataclass(frozen=True)
class Shows:
    """What /proc says of a holder that is what it says it is; `parent` None: not looked at."""

    state: str = "S"
    parent: int | None = None
    namespace_pids: int = 1
    nodes: tuple[str, ...] | None = None
    threads_nodes: bool = False
    mapped: bool = False
    other_mounts: bool = False
    executable: str = "holder"
    group: str | None = None


@dataclass(frozen=True)
class Player:
    """One process that holds a GPU. `signals` and `outcome`: what released is to do to it and to say of it.

    `unit`: a service of that name starts it, with these settings; `left_behind`: and is stopped before the next player comes on.
    `traced`: it is kept from ending. `says`: words of the next step that its `why` names.
    """

    name: str
    gpu: int
    command: Command
    owner: str = "ours"
    outcome: str | None = None
    signals: tuple[str, ...] = ()
    shows: Shows = field(default_factory=Shows)
    unit: str | None = None
    settings: dict[str, str] = field(default_factory=dict)
    left_behind: bool = False
    traced: bool = False
    says: str = ""

    @property
    def listed_gpus(self) -> list[int]:
        return [self.gpu]

    @property
    def survives(self) -> bool:
        return self.outcome != "exited"


@dataclass(frozen=True)
class Scene:
    """`states`: of each GPU at the end; `selected_gpus`: those that the module is given. `described`: what the fake NVML says beside its description."""

    name: str
    players: tuple[Player, ...]
    states: dict[int, str]
    state: str
    options: dict[str, Any] = field(default_factory=dict)
    selected_gpus: tuple[int, ...] = ()
    described: dict[int, dict[str, Any]] = field(default_factory=dict)
    respawns: tuple[str, ...] = ()
    shared_memory_removed: tuple[str, ...] = ()
    shared_memory_left: frozenset[str] = frozenset()


def victim(name: str, gpu: int, command: Command, *signals: str, **more: Any) -> Player:
    return Player(name, gpu, command, "ours", "exited", signals or ("TERM",), **more)


def bystander(name: str, gpu: int, command: Command, owner: str, **more: Any) -> Player:
    return Player(name, gpu, command, owner, owner, **more)


def scoped(name: str, command: Command) -> Command:
    return in_scope(f"holder-{name}", command)


def daemon(executable: str, gpu: int, *more: str, gib: int = 2) -> Player:
    """A program of the driver's by its executable, and one of ours by all else."""
    return bystander(
        executable,
        gpu,
        scoped(executable, ours(context(gpu, *more, gib=gib, name=executable))),
        "protected",
        shows=Shows(executable=executable),
    )


def watchers() -> tuple[Player, ...]:
    """On each GPU a process of somebody else that only looks."""
    return tuple(
        bystander(
            f"watcher-{gpu}",
            gpu,
            scoped(f"watcher-{gpu}", as_user(OTHER_USER, watcher(gpu), MARK)),
            "not_ours",
            shows=Shows(nodes=(node(gpu), CLIENT[0])),
        )
        for gpu in range(8)
    )


IN_UNIT = Shows(group=f"/system.slice/{ENGINE}.service")
LEFT_BY_ITS_UNIT = victim(
    "left-by-its-unit",
    7,
    under_a_parent(context(7)),
    shows=replace(IN_UNIT, parent=1),
    unit=ENGINE,
    settings={"KillMode": "process"},
    left_behind=True,
)
ASLEEP_IN_UNIT = replace(
    LEFT_BY_ITS_UNIT,
    name="uninterruptible",
    gpu=5,
    command=under_a_parent(context(5, "--vfork")),
    shows=replace(IN_UNIT, parent=1, state="D"),
)
"""Nothing but its control group shows that it is ours: reading the environment of one in state D could hang."""

ALL_OURS = Scene(
    "all ours",
    (
        victim("plain", 0, under_a_parent(ours(context(0))), shows=Shows(nodes=(node(0), *CLIENT))),
        victim("reparented", 1, scoped("reparented", ours(context(1, "--reparent"))), shows=Shows(parent=1)),
        victim("forked-away", 2, scoped("forked-away", ours(context(2, "--fork-away"))), shows=Shows(parent=1)),
        victim(
            "thread",
            3,
            scoped("thread", ours(context(3, "--thread", gib=0))),
            shows=Shows(state="Z", nodes=(), threads_nodes=True),
        ),
        victim(
            "mapping",
            MAPPABLE_GPU,
            scoped("mapping", ours(holder("--map", node(MAPPABLE_GPU), "--memory", f"{MAPPABLE_GPU}:{2 * GIB}"))),
            shows=Shows(nodes=(), mapped=True),
        ),
        victim(
            "pid-namespace",
            5,
            scoped("pid-namespace", in_pid_namespace(ours(context(5)))),
            shows=Shows(namespace_pids=2),
        ),
        victim(
            "mount-namespace",
            6,
            scoped(
                "mount-namespace",
                with_own_nodes(OWN_NODES, 6, ours(holder("--open", f"{OWN_NODES}/card", "--open", f"{OWN_NODES}/uvm"))),
            ),
            shows=Shows(nodes=(f"{OWN_NODES}/card", f"{OWN_NODES}/uvm"), other_mounts=True),
        ),
        victim("ignores-term", 7, scoped("ignores-term", ours(context(7, "--ignore-term"))), "TERM", "KILL"),
        LEFT_BY_ITS_UNIT,
        daemon("nvidia-persistenced", 0, gib=0),
        daemon("nv-hostengine", 1, "--share", MAPPED, gib=0),
        *watchers(),
    ),
    dict.fromkeys(range(8), "released"),
    "released",
    shared_memory_removed=(DEAD_RANKS,),
    shared_memory_left=frozenset({ANOTHER_USERS, MAPPED}),
)
"""Whatever way of ours holds a GPU is ended, and who only watches is let be."""

SOME_OF_OTHERS = Scene(
    "some of others",
    (
        daemon("nvidia-cuda-mps-server", 0),
        victim("beside-mps", 0, scoped("beside-mps", ours(context(0)))),
        daemon("Xorg", 1, gib=0),
        victim("beside-display", 1, scoped("beside-display", ours(context(1)))),
        victim("beside-leak", 2, scoped("beside-leak", ours(context(2)))),
        bystander("other-user", 3, scoped("other-user", as_user(OTHER_USER, context(3), MARK)), "not_ours"),
        bystander("without-mark", 3, scoped("without-mark", as_user(USER, context(3))), "not_ours"),
        bystander("of-root", 3, scoped("of-root", as_user("root", context(3), MARK)), "not_ours"),
        victim("beside-others", 3, scoped("beside-others", ours(context(3)))),
        bystander(
            "neighbour",
            4,
            context(4),
            "protected",
            unit=NEIGHBOUR,
            settings={"Restart": "always", "Environment": "BLACKWELL_INSTANCE=kimi"},
            shows=Shows(group=f"/system.slice/{NEIGHBOUR}.service"),
            says=f"systemctl stop {NEIGHBOUR}.service",
        ),
        bystander("in-docker", 4, in_scope(DOCKER, ours(context(4))), "not_ours", says="docker stop"),
        daemon("qemu-system-x86_64", 4),
        ASLEEP_IN_UNIT,
        victim("supervised", 6, scoped("supervised", ours(again_and_again(context(6))))),
        Player(
            "unkillable",
            7,
            scoped("unkillable", ours(context(7))),
            "ours",
            "survived_kill",
            ("TERM", "KILL"),
            traced=True,
        ),
    ),
    {0: "held", 1: "released", 2: "held_by_unseen", 3: "held", 4: "held", 5: "released", 6: "held", 7: "needs_reboot"},
    "needs_reboot",
    options={"deadline_seconds": 8},
    described={2: {"processes": [{"pid": 4000000, "used_bytes": 9 * GIB, "hidden": True}]}},
    respawns=("supervised",),
)
"""What is not ours, and what no signal ends, keeps its GPU and is not touched."""

BESIDE_THE_RUNNING_UNIT = Scene(
    "beside the running unit",
    (
        LEFT_BY_ITS_UNIT,
        bystander(
            "running",
            7,
            under_a_parent(context(7)),
            "protected",
            unit=ENGINE,
            settings={"KillMode": "process", "Environment": "BLACKWELL_INSTANCE=kimi"},
            shows=IN_UNIT,
            says=f"systemctl stop {ENGINE}.service",
        ),
        bystander(
            "worker", 7, scoped("worker", ours(context(7))), "protected", says=f"systemctl stop {ENGINE}.service"
        ),
    ),
    {7: "held"},
    "held",
    options={"deadline_seconds": 4},
    selected_gpus=(7,),
)
"""What an earlier start of the unit left is ended, and the unit that runs is not touched."""

SCENES = (ALL_OURS, SOME_OF_OTHERS, BESIDE_THE_RUNNING_UNIT)
