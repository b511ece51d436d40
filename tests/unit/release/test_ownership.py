# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose a holder is. What is not shown to be ours is never "ours", whatever it looks like."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import ReleaseError
from ansible_collections.blackwell.inference.plugins.module_utils.observe.holders.scan import Holder
from ansible_collections.blackwell.inference.plugins.module_utils.observe.identity import Identity
from ansible_collections.blackwell.inference.plugins.module_utils.release.ownership import (
    Gpus,
    Selection,
    concerns,
    owner_of,
    selection,
)
from ansible_collections.blackwell.inference.plugins.module_utils.release.protected import PROGRAMS, UNITS

UNIT = "sglang-kimi.service"
GROUP = f"/system.slice/{UNIT}"
MARK = {"BLACKWELL_INSTANCE": "kimi", "BLACKWELL_ROLE": "engine"}
NOW = 1_800_000_000.0
FIRST_GPU = Gpus(frozenset({"nvidia0"}), frozenset({0}))
CONTEXT = {"nvidiactl": ("descriptor",), "nvidia-uvm": ("descriptor",), "nvidia0": ("descriptor",)}
SCOPE = "/user.slice/user-998.slice/session-3.scope"

RUNNING = selection(UNIT, GROUP, running_since=NOW, uid=998, environment=MARK)
DEAD = selection(UNIT, None, None, uid=998, environment=MARK)
FAILED = selection(UNIT, GROUP, None, uid=998, environment=MARK)


def holder(
    group: str = SCOPE,
    executable: str | None = "/opt/sglang/bin/python3",
    uid: int = 998,
    started: float = NOW - 3600,
    **more: Any,
) -> Holder:
    """A rank of an earlier start in a session of our user, with our mark."""
    last = group.rpartition("/")[2]
    unit = last if last.endswith((".service", ".scope")) else None
    given = {"environment": dict(MARK), "devices": CONTEXT, "container": None, "name": "sglang::schedul", **more}
    identity = Identity(given.pop("pid", 4711), 100, group, uid, executable)
    return Holder(
        identity, state="S", live_threads=1, parent_pid=1, namespace_pids=(4711,), unit=unit, started=started, **given
    )


STOP = f"`systemctl stop {UNIT}`"
BELONGS = f"It belongs to {UNIT}, which runs: {STOP} ends it."
AT_WORK = f"It has the environment of {UNIT} and started since that did, so it may be at work for it: {STOP} first, then release again."
LEFT_OVER = f"It is left over in the control group of {UNIT}."
OURS = "It runs as uid 998 and has BLACKWELL_INSTANCE, BLACKWELL_ROLE as given in its environment."
NOT_OURS = "Nothing shows that it is ours: uid {}, {}, {}. Ask its owner to end it, or name the executable or the unit in allow."
PYTHON = "/opt/sglang/bin/python3"


@pytest.mark.parametrize(
    ("seen", "selected", "owner", "why"),
    [
        (holder(GROUP, started=NOW), RUNNING, "protected", BELONGS),
        (holder(GROUP, started=NOW - 0.9), RUNNING, "protected", BELONGS),
        (holder(f"{GROUP}/worker", started=NOW + 9, environment={}), RUNNING, "protected", BELONGS),
        (holder(GROUP, started=NOW + 9, uid=0), RUNNING, "protected", BELONGS),
        (holder(started=NOW + 9), RUNNING, "protected", AT_WORK),
        (holder("/", started=NOW + 9), RUNNING, "protected", AT_WORK),
        (holder(GROUP, started=NOW - 1.1), RUNNING, "ours", LEFT_OVER),
        (holder(f"{GROUP}/worker", environment={}, uid=0), RUNNING, "ours", LEFT_OVER),
        (holder(GROUP, environment={}, uid=7), FAILED, "ours", LEFT_OVER),
        (holder(GROUP, environment={}, uid=7), DEAD, "ours", LEFT_OVER),
        (holder(f"/gpu.slice/gpu-a.slice/{UNIT}/x", environment={}), DEAD, "ours", LEFT_OVER),
        (holder(GROUP, executable=None, environment={}), FAILED, "ours", LEFT_OVER),
        (holder(GROUP, container="docker 4f0c2a1b9d3e"), FAILED, "ours", LEFT_OVER),
    ],
    ids=[
        "started with its unit",
        "clocks differ",
        "a group below the unit's",
        "the unit's, as another user",
        "with our mark beside the running unit",
        "with our mark and no unit",
        "older than the running start",
        "older, in a group below, of root",
        "of a unit that failed",
        "of a unit whose group systemd has forgotten",
        "in a slice of its own",
        "a zombie",
        "a container that the unit started in its own group",
    ],
)
def test_of_our_unit(seen: Holder, selected: Selection, owner: str, why: str) -> None:
    judgement = owner_of(seen, selected, FIRST_GPU)
    assert (judgement.owner, judgement.why, judgement.blocks, judgement.tolerated) == (owner, why, True, False)


BY_UID = selection(uid=998)
BY_MARK = selection(environment=MARK)
ROOT_BY_MARK = selection(uid=0, environment=MARK)


@pytest.mark.parametrize(
    ("seen", "selected", "owner", "why"),
    [
        (holder(), RUNNING, "ours", OURS),
        (holder("/"), FAILED, "ours", OURS),
        (holder("/init.scope"), FAILED, "ours", OURS),
        (holder(environment={}), BY_UID, "ours", "It runs as uid 998."),
        (
            holder(uid=5),
            BY_MARK,
            "ours",
            "It has BLACKWELL_INSTANCE, BLACKWELL_ROLE as given in its environment.",
        ),
        (
            holder(uid=0),
            ROOT_BY_MARK,
            "ours",
            "It runs as uid 0 and has BLACKWELL_INSTANCE, BLACKWELL_ROLE as given in its environment.",
        ),
        (holder(uid=999), RUNNING, "not_ours", NOT_OURS.format(999, "session-3.scope", PYTHON)),
        (holder(uid=0), RUNNING, "not_ours", NOT_OURS.format(0, "session-3.scope", PYTHON)),
        (
            holder(environment={"BLACKWELL_INSTANCE": "kimi"}),
            RUNNING,
            "not_ours",
            NOT_OURS.format(998, "session-3.scope", PYTHON),
        ),
        (
            holder("/", environment={**MARK, "BLACKWELL_INSTANCE": "qwen"}),
            RUNNING,
            "not_ours",
            NOT_OURS.format(998, "no unit", PYTHON),
        ),
        (
            holder("/", executable=None, environment={}, name="python3"),
            FAILED,
            "not_ours",
            NOT_OURS.format(998, "no unit", "a program that cannot be seen, named python3"),
        ),
        (holder("/"), selection(UNIT, GROUP), "not_ours", NOT_OURS.format(998, "no unit", PYTHON)),
        (holder("/"), selection(), "not_ours", NOT_OURS.format(998, "no unit", PYTHON)),
        (
            holder("/system.slice/sglang-kimi.service.d", environment={}),
            FAILED,
            "not_ours",
            NOT_OURS.format(998, "no unit", PYTHON),
        ),
        (
            holder("/system.slice/other.service"),
            RUNNING,
            "protected",
            "It belongs to other.service, which would start it again: `systemctl stop other.service` ends it.",
        ),
        (
            holder("/user.slice/user-998.slice/user@998.service/app.slice/chat.service"),
            RUNNING,
            "protected",
            "It belongs to chat.service, which would start it again: `systemctl --user stop chat.service` ends it.",
        ),
        (
            holder(f"/user.slice/user-998.slice/user@998.service/app.slice/{UNIT}"),
            DEAD,
            "protected",
            f"It belongs to {UNIT}, which would start it again: `systemctl --user stop {UNIT}` ends it.",
        ),
        (
            holder("/system.slice/other.service", environment={}),
            RUNNING,
            "not_ours",
            NOT_OURS.format(998, "other.service", PYTHON),
        ),
        (
            holder("/lxc/101/ns/system.slice/sglang-kimi.service", container="lxc 101"),
            DEAD,
            "not_ours",
            "It runs in the container lxc 101: `pct stop 101` ends that.",
        ),
        (
            holder("/lxc.payload.web/a", container="lxc web"),
            FAILED,
            "not_ours",
            "It runs in the container lxc web: `lxc-stop --name web` ends that.",
        ),
        (
            holder("/system.slice/docker-4f0c2a1b9d3e.scope", container="docker 4f0c2a1b9d3e"),
            FAILED,
            "not_ours",
            "It runs in the container docker 4f0c2a1b9d3e: `docker stop 4f0c2a1b9d3e` ends that.",
        ),
        (
            holder("/kubepods/x", container="kubernetes 4f0c2a1b9d3e"),
            FAILED,
            "not_ours",
            "It runs in the container kubernetes 4f0c2a1b9d3e: what started the container ends it.",
        ),
        (
            holder(pid=77),
            selection(UNIT, GROUP, None, 998, MARK, spared={77, 40}),
            "protected",
            "This task runs below it. Run the task from a process that has no GPU open.",
        ),
        (
            holder(pid=1),
            FAILED,
            "protected",
            "This task runs below it. Run the task from a process that has no GPU open.",
        ),
    ],
    ids=[
        "in a session, beside the running unit but older",
        "in no unit",
        "re-parented, in the scope of the first process",
        "by user alone",
        "by mark alone",
        "of root, by mark",
        "another user with our mark",
        "root with our mark",
        "half of our mark",
        "the mark of another instance",
        "our user, and nothing to be seen",
        "only a unit is given, and it is not in it",
        "nothing is given",
        "a group whose name begins as our unit's",
        "in another unit",
        "in a unit of our user's own systemd",
        "in a unit of that name of our user's own systemd",
        "of our user in another unit without our mark",
        "a unit of that name in a Proxmox container",
        "another LXC container",
        "docker",
        "another runtime",
        "what runs this task",
        "the first process",
    ],
)
def test_by_user_and_environment(seen: Holder, selected: Selection, owner: str, why: str) -> None:
    judgement = owner_of(seen, selected, FIRST_GPU)
    assert (judgement.owner, judgement.why, judgement.blocks, judgement.tolerated) == (owner, why, True, False)


@pytest.mark.parametrize("name", [*PROGRAMS, "qemu-system-x86_64", "qemu-system-aarch64"])
def test_no_program_that_is_protected_is_ours_whatever_shows_it(name: str) -> None:
    for group in (GROUP, SCOPE, "/"):
        for path in (f"/usr/bin/{name}", f"/opt/x/{name}"):
            seen = holder(group, path)
            owners = {owner_of(seen, chosen, FIRST_GPU).owner for chosen in (RUNNING, FAILED, DEAD, BY_UID, BY_MARK)}
            assert owners == {"protected"}


@pytest.mark.parametrize(
    ("name", "why", "blocks", "tolerated"),
    [
        (
            "nvidia-persistenced",
            "nvidia-persistenced is the driver's persistence daemon. It stays, and a GPU is free all the same while it uses little memory.",
            False,
            False,
        ),
        (
            "nv-hostengine",
            "nv-hostengine is the DCGM host engine. It stays, and a GPU is free all the same while it uses little memory.",
            False,
            False,
        ),
        (
            "nvidia-cuda-mps-server",
            "nvidia-cuda-mps-server is the MPS server, which holds the contexts of its clients. "
            "Once it has no clients, `echo quit | nvidia-cuda-mps-control` ends it.",
            False,
            False,
        ),
        (
            "Xorg",
            "Xorg is a part of the display. It is never ended here; stop the display manager if its GPU is wanted whole.",
            False,
            False,
        ),
        (
            "qemu-system-x86_64",
            "qemu-system-x86_64 is a virtual machine. It is never ended here; stop the virtual machine by what started it.",
            True,
            False,
        ),
    ],
)
def test_what_a_protected_program_means_for_a_gpu(name: str, why: str, blocks: bool, tolerated: bool) -> None:
    judgement = owner_of(holder(executable=f"/usr/bin/{name}"), FAILED, FIRST_GPU)
    assert (judgement.owner, judgement.why, judgement.blocks, judgement.tolerated) == (
        "protected",
        why,
        blocks,
        tolerated,
    )


@pytest.mark.parametrize("unit", UNITS)
def test_by_its_unit_where_the_program_cannot_be_seen(unit: str) -> None:
    hidden = holder(f"/system.slice/{unit}", None, name="x")
    assert owner_of(hidden, BY_UID, FIRST_GPU).why.startswith(f"{UNITS[unit]} is ")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("nvidia-persiste", "nvidia-persistenced"), ("Xorg", "Xorg"), ("qemu-system-x86", "qemu-system-x86")],
)
def test_by_its_name_where_nothing_else_can_be_seen(name: str, expected: str) -> None:
    judgement = owner_of(holder("/", None, name=name), BY_UID, FIRST_GPU)
    assert (judgement.owner, judgement.why.partition(" ")[0]) == ("protected", expected)


def test_a_name_protects_nobody_whose_program_is_seen() -> None:
    assert owner_of(holder(name="Xorg"), BY_UID, FIRST_GPU).owner == "ours"
    assert owner_of(holder(executable="/usr/bin/nvidia-smi"), BY_UID, FIRST_GPU).owner == "ours"


@pytest.mark.parametrize(
    ("seen", "allow", "named"),
    [
        (holder(uid=5), "/opt/sglang/bin/python3", "/opt/sglang/bin/python3"),
        (holder(executable="/usr/bin/dcgm-exporter"), "/usr/bin/dcgm-exporter", "/usr/bin/dcgm-exporter"),
        (holder(), "session-3.scope", "session-3.scope"),
        (holder("/system.slice/ollama.service/x"), "ollama.service", "ollama.service"),
        (
            holder("/user.slice/user-998.slice/user@998.service/app.slice/a.service"),
            "user@998.service",
            "user@998.service",
        ),
        (holder(GROUP), UNIT, UNIT),
    ],
    ids=["another's", "a daemon with memory", "a session", "below a unit", "all of a user", "ours"],
)
def test_what_is_allowed_stays_and_is_no_obstacle(seen: Holder, allow: str, named: str) -> None:
    judgement = owner_of(seen, selection(UNIT, GROUP, None, 998, MARK, (allow,)), FIRST_GPU)
    assert (judgement.owner, judgement.why, judgement.blocks, judgement.tolerated) == (
        "protected",
        f"It may keep the GPUs open: allow names {named}.",
        False,
        True,
    )


@pytest.mark.parametrize(
    ("seen", "allow"),
    [
        (holder(executable="/home/x/ollama"), "/usr/bin/ollama"),
        (holder("/lxc/101/system.slice/ollama.service", container="lxc 101"), "ollama.service"),
        (holder(executable=None), "/usr/bin/ollama"),
    ],
    ids=["another file of that name", "a unit of that name in a container", "not to be seen"],
)
def test_what_is_not_allowed_blocks(seen: Holder, allow: str) -> None:
    assert owner_of(seen, selection(allow=(allow,)), FIRST_GPU).blocks


D, M = ("descriptor",), ("mapping",)


@pytest.mark.parametrize(
    ("devices", "memory", "concerned", "blocks"),
    [
        ({"nvidia0": D}, {}, True, False),
        ({"nvidia0": D, "nvidiactl": D}, {}, True, False),
        ({"nvidia0": D, "nvidia-uvm": D}, {}, True, True),
        ({"nvidia0": M}, {}, True, True),
        ({"nvidia0": ("descriptor", "mapping")}, {}, True, True),
        ({"nvidia-uvm": D, "nvidiactl": D}, {}, True, True),
        ({"nvidiactl": D}, {}, True, False),
        ({"nvidiactl": M}, {}, True, True),
        ({"nvidia-modeset": D}, {}, True, False),
        ({}, {0: None}, True, True),
        ({"nvidiactl": D}, {0: 1 << 30}, True, True),
        ({"nvidia1": D, "nvidia-uvm": D}, {}, False, True),
        ({"nvidia10": M}, {}, False, True),
        ({"nvidiactl": D, "nvidia-uvm": D}, {1: None}, False, False),
        ({"nvidia0": D, "nvidia1": D, "nvidia-uvm": D}, {1: 1 << 30}, True, False),
        ({"nvidia0": M, "nvidia1": M, "nvidia-uvm": D}, {1: 1 << 30}, True, True),
        ({"nvidia0": D, "nvidia1": M, "nvidiactl": M, "nvidia-uvm": D}, {1: 1 << 30}, True, False),
        ({"nvidia0": D, "nvidia1": D, "nvidia-uvm": D}, {0: 1, 1: 1}, True, True),
    ],
    ids=[
        "watches",
        "watches as nvidia-smi does",
        "a context",
        "a mapping whose descriptor is closed",
        "both",
        "a context of a GPU that does not show",
        "the driver alone",
        "a mapping of the driver alone",
        "modeset alone",
        "NVML alone sees it",
        "NVML and the driver's node",
        "a context of another GPU",
        "a GPU whose name begins as ours",
        "NVML names another GPU",
        "a context of another GPU, ours open beside it",
        "a context of another GPU, ours mapped beside it",
        "a context of another GPU, and mappings of that",
        "a context of both",
    ],
)
def test_who_concerns_and_who_blocks_the_first_gpu(
    devices: dict[str, tuple[str, ...]], memory: dict[int, int | None], concerned: bool, blocks: bool
) -> None:
    seen = holder(devices=devices, gpu_memory_bytes=memory)
    assert concerns(seen, FIRST_GPU) is concerned
    assert owner_of(seen, FAILED, FIRST_GPU).blocks is blocks


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"uid": 0},
            "user root alone does not say what is ours: half of the host is root's. Name the unit, or the environment of the processes too.",
        ),
        (
            {"unit": UNIT, "uid": 0, "environment": {}},
            "user root alone does not say what is ours: half of the host is root's. Name the unit, or the environment of the processes too.",
        ),
        (
            {"allow": ("/usr/bin/x", "nvtop")},
            "allow names nvtop, which is neither the absolute path of an executable nor a unit: write it as /usr/bin/ollama or ollama.service.",
        ),
        (
            {"unit": "sglang-kimi"},
            "unit is sglang-kimi, which is no name of a unit: write it in full, as sglang-kimi.service.",
        ),
        (
            {"unit": "sglang-*.service"},
            "unit is sglang-*.service, which is no name of a unit: write it in full, as sglang-kimi.service.",
        ),
        (
            {"unit": "-h.service"},
            "unit is -h.service, which is no name of a unit: write it in full, as sglang-kimi.service.",
        ),
    ],
)
def test_what_selects_too_much_or_nothing_is_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ReleaseError) as refusal:
        selection(**given)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize("group", ["", "/", None])
def test_the_root_is_no_units_group(group: str | None) -> None:
    """systemctl prints an empty one for a unit that is dead: everything would be below it."""
    selected = selection(UNIT, group, None)
    assert owner_of(holder("/system.slice/other.service", environment={}), selected, FIRST_GPU).owner == "not_ours"
    assert owner_of(holder(GROUP), selected, FIRST_GPU).owner == "ours"


def test_the_environment_is_never_told() -> None:
    """Values may be secret; the names are ours to give."""
    secret = selection(uid=998, environment={"API_KEY": "hunter2"})
    for seen in (holder(environment={"API_KEY": "hunter2"}), holder(environment={"API_KEY": "other"})):
        why = owner_of(seen, secret, FIRST_GPU).why
        assert "hunter2" not in why
        assert "other" not in why


@pytest.mark.parametrize("unit", ["sglang@kimi.service", r"sglang-a\x2db.service", "session-3.scope", "gpu.slice"])
def test_names_that_units_have(unit: str) -> None:
    assert selection(unit).unit == unit
