# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of a look for holders that ends well, falls silent, or breaks off."""

from __future__ import annotations

import json
import os
import sys
from types import SimpleNamespace

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.files import Unread
from ansible_collections.blackwell.inference.plugins.module_utils.observe.holders import scan
from ansible_collections.blackwell.inference.plugins.module_utils.observe.holders.gpu_nodes import GpuNodes
from ansible_collections.blackwell.inference.plugins.module_utils.observe.holders.scan import Holder, read_holders
from ansible_collections.blackwell.inference.plugins.module_utils.observe.identity import Identity

SAY = "import json, sys, time\nasked = json.loads(sys.argv[1])\ndef say(**message): print(json.dumps(message), flush=True)\n"
NODES = GpuNodes({(7, 0): "nvidia0"})


def told(pid: int, how: str = "descriptor", ticks: int = 5, node: str = "nvidia0", **more: object) -> dict[str, object]:
    return {
        "identity": {"pid": pid, "start_ticks": ticks, "control_group": "/", "uid": 0, "executable": "/usr/bin/x"},
        "name": "x",
        "state": "S",
        "live_threads": 1,
        "parent_pid": 1,
        "namespace_pids": [pid],
        "unit": None,
        "container": None,
        "started": 7.0,
        "devices": {node: [how]},
        "environment": {},
        **more,
    }


def say(**message: object) -> str:
    return f"say(**json.loads({json.dumps(message)!r}))\n"


def reading(pid: int, part: str = "descriptors", **more: object) -> str:
    return say(reading=pid, part=part, **more)


@pytest.fixture
def look(tmp_path, monkeypatch):
    """Looks for holders with a program given as text, on a machine whose processes all have the name "x"."""

    def start(program: str, timeout_seconds: float = 20, segments: tuple[str, ...] = ()):
        (tmp_path / "stand_in.py").write_text(SAY + program)
        monkeypatch.setattr(scan, "child", SimpleNamespace(__name__="stand_in"))
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
        for pid in (41, 42, 43):
            (tmp_path / "proc" / str(pid)).mkdir(parents=True, exist_ok=True)
            (tmp_path / "proc" / str(pid) / "comm").write_text("x\n")
        (tmp_path / "shm").mkdir(exist_ok=True)
        for name in segments:
            (tmp_path / "shm" / name).write_text("")
        return read_holders(NODES, ["A"], timeout_seconds, str(tmp_path / "proc"), str(tmp_path / "shm"))

    return start


def test_all_is_well(look):
    found = look(
        reading(41, descriptors=0)
        + reading(42, descriptors=10)
        + say(holder=told(42))
        + reading(42, "mappings")
        + say(holder=told(42, "mapping", environment={"A": "1"}))
        + say(done=True, descriptors=30)
    )
    holder = Holder(
        identity=Identity(42, 5, "/", 0, "/usr/bin/x"),
        name="x",
        state="S",
        live_threads=1,
        parent_pid=1,
        namespace_pids=(42,),
        unit=None,
        container=None,
        started=7.0,
        devices={"nvidia0": ("descriptor", "mapping")},
        environment={"A": "1"},
    )
    assert found == scan.Holders((holder,), (), processes=2, descriptors=30)


def test_a_number_that_was_given_out_again_meanwhile_is_another_process(look):
    found = look(
        say(holder=told(42, node="nvidia1")) + say(holder=told(42, "mapping", ticks=6)) + say(done=True, descriptors=0)
    )
    assert [(holder.identity.start_ticks, holder.devices) for holder in found.holders] == [
        (6, {"nvidia0": ("mapping",)})
    ]


def test_one_that_hangs_costs_one_timeout_and_the_others_are_found(look):
    """Each program goes on after the process that kept the one before, in the same part, and knows the holders found until then."""
    found = look(
        f"""
if asked["part"] == "descriptors" and not asked["first"]:
    {say(reading=41, part="descriptors", descriptors=3, holder=told(41)).strip()}
    {reading(42, descriptors=9).strip()}
    time.sleep(60)
elif asked["part"] == "descriptors":
    say(holder=dict(json.loads({json.dumps(told(43))!r}), environment=dict(first=str(asked["first"]), known=str(asked["known"]))))
    {reading(43, "mappings").strip()}
    time.sleep(60)
else:
    say(done=True, descriptors=4)
""",
        timeout_seconds=1.0,
        segments=("left",),
    )
    assert found.unread == (
        Unread("process 42 (x)", "did not answer within 1 seconds"),
        Unread("process 43 (x)", "did not answer within 1 seconds"),
    )
    assert [holder.identity.pid for holder in found.holders] == [41, 43]
    assert found.holders[1].environment == {"first": "43", "known": "[41]"}
    assert (found.processes, found.descriptors) == (3, 13)
    assert [segment.referenced for segment in found.segments] == [True]  # whoever was not read may have it


def test_the_whole_takes_three_timeouts_at_most(look):
    found = look('say(reading=max(asked["first"], 41), part="descriptors", descriptors=0)\ntime.sleep(60)', 0.6)
    assert [note.what for note in found.unread[:2]] == ["process 41 (x)", "process 42 (x)"]
    assert found.unread[-1].what == "other processes"


@pytest.mark.parametrize(
    ("program", "timeout_seconds", "why"),
    [
        ("time.sleep(60)", 0.5, "the program that looks at them said nothing within 0.5 seconds"),
        (
            "while True: say(reading=41, part='descriptors', descriptors=0); time.sleep(0.05)",
            0.5,
            "looking at them took longer than 1.5 seconds and was broken off at process 41",
        ),
        (
            reading(41, descriptors=0) + say(broke="ValueError: x"),
            20,
            "the program that looks at them failed with ValueError: x at process 41",
        ),
        ("sys.exit(3)", 20, "the program that looks at them ended with exit status 3 before it looked at any"),
    ],
)
def test_a_program_that_breaks_off(look, program, timeout_seconds, why):
    found = look(program, timeout_seconds)
    assert found.unread == (Unread("other processes", why),)
    assert found.broken_off == why


def test_all_descriptors_were_looked_at_where_it_breaks_off_among_the_mappings(look):
    found = look(reading(41, descriptors=0) + reading(41, "mappings") + say(broke="ValueError: x"))
    assert found.unread[-1].what == "other processes"
    assert found.broken_off is None


def test_what_sleeps_is_told_unless_it_wakes(look):
    found = look(say(asleep=42) + say(asleep=43) + say(woken=42) + say(done=True, descriptors=0))
    assert found.unread == (
        Unread(
            "process 43 (x)",
            "sleeps and cannot be interrupted: its mappings and environment were not read, not to hang with it",
        ),
    )


@pytest.mark.parametrize(
    ("user", "refused", "why"),
    [
        (1000, (42, 43), "2 processes of other users could not be looked into: run as root"),
        (
            0,
            (1,),
            "1 could not be looked into although we are root (1): a container or a security module keeps them from us",
        ),
        (
            0,
            range(1, 8),
            "7 could not be looked into although we are root (1, 2, 3, 4, 5, ...): a container or a security module keeps them from us",
        ),
    ],
)
def test_processes_that_are_not_ours_to_read_are_told_together(look, monkeypatch, user, refused, why):
    monkeypatch.setattr(scan.os, "geteuid", lambda: user)
    found = look("".join(say(refused=pid) for pid in refused) + say(done=True, descriptors=0), segments=("left",))
    assert found.unread == (Unread("processes", why),)
    assert [segment.referenced for segment in found.segments] == [True]


def test_segments_that_nobody_has(look, tmp_path):
    (tmp_path / "shm").mkdir()
    for name in ("kept", "left", "new"):
        (tmp_path / "shm" / name).write_text("")
    os.utime(tmp_path / "shm" / "left", (0, 0))
    inode = (tmp_path / "shm" / "kept").stat().st_ino
    found = look(say(referenced=inode) + say(done=True, descriptors=0))
    referenced = {segment.path.rpartition("/")[2]: segment.referenced for segment in found.segments}
    assert referenced == {"kept": True, "left": False, "new": True}
