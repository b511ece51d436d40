# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What counts as progress, and what does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import MIB
from ansible_collections.blackwell.inference.plugins.module_utils.wait.progress import (
    MEMORY_STEP_BYTES,
    READ_STEP_BYTES,
    Counters,
    Marks,
    count,
    family_of,
)

IDLE = Counters(reads={1: 0}, writes={1: 0}, memory={"anonymous": 100 * MIB, "shared": 0}, commands={"python": 9})


def marks_after(*looks: Counters) -> Marks:
    marks = Marks()
    for look in looks:
        marks.moved(look, 10)
    return marks


@pytest.mark.parametrize(
    ("look", "lines", "moved"),
    [
        (IDLE, 10, []),
        (IDLE, 11, ["journal"]),
        (Counters(reads={1: READ_STEP_BYTES}), 10, ["bytes read"]),
        (Counters(reads={1: READ_STEP_BYTES - 1}), 10, []),
        (Counters(reads={1: 0, 2: READ_STEP_BYTES}), 10, ["bytes read"]),
        (Counters(writes={1: 120}), 10, ["text written"]),
        (Counters(memory={"anonymous": 100 * MIB + MEMORY_STEP_BYTES}), 10, ["memory"]),
        (Counters(memory={"anonymous": 100 * MIB + MEMORY_STEP_BYTES - 1}), 10, []),
        (Counters(memory={"anonymous": 100 * MIB, "shared": MEMORY_STEP_BYTES}), 10, ["memory"]),
        (Counters(commands={"python": 10}), 10, ["processes"]),
        (Counters(commands={"python": 9, "cicc": 1}), 10, ["processes"]),
        (Counters(commands={"python": 3}), 10, []),
    ],
    ids=[
        "nothing",
        "a line",
        "weights read",
        "too little read",
        "another process reads",
        "an unfinished line",
        "memory",
        "too little memory",
        "shared memory",
        "one more process",
        "a compiler",
        "fewer processes",
    ],
)
def test_what_moves(look: Counters, lines: int, moved: list[str]) -> None:
    assert marks_after(IDLE).moved(look, lines) == moved


def test_slow_reading_adds_up_to_progress() -> None:
    marks = marks_after(IDLE)
    moved = [marks.moved(Counters(reads={1: step * READ_STEP_BYTES // 4}), 10) for step in range(1, 9)]
    assert moved == [[], [], [], ["bytes read"], [], [], [], ["bytes read"]]


def test_memory_that_was_given_back_does_not_hide_what_grows_afterwards() -> None:
    """Weight files are unmapped when they are loaded, and pinning begins far below that peak."""
    marks = marks_after(Counters(memory={"file": 70_000 * MIB}))
    assert marks.moved(Counters(memory={"file": 100 * MIB}), 10) == []
    assert marks.moved(Counters(memory={"file": 100 * MIB + MEMORY_STEP_BYTES}), 10) == ["memory"]


def test_a_loop_that_starts_a_command_again_and_again_gets_nowhere() -> None:
    marks = marks_after(IDLE)
    sleeping = replace(IDLE, commands={"python": 9, "sleep": 1})
    assert [marks.moved(look, 10) for look in (sleeping, IDLE, sleeping, IDLE)] == [["processes"], [], [], []]


def test_a_process_that_ended_takes_nothing_back() -> None:
    marks = marks_after(Counters(reads={1: 0, 2: 500 * MIB}))
    marks.moved(Counters(reads={1: 0}), 10)
    assert marks.moved(Counters(reads={1: READ_STEP_BYTES}), 10) == ["bytes read"]


def test_marks_survive_the_way_to_the_controller() -> None:
    marks = marks_after(IDLE)
    data = json.loads(json.dumps(asdict(marks)))
    assert data["memory"] == {"anonymous": 100 * MIB, "shared": 0}
    assert data["reads"] == {"1": 0}


@contextmanager
def child(code: str, *arguments: str) -> Iterator[int]:
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        yield process.pid
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def looks(pid: int, seconds: float) -> list[list[str]]:
    """What moves while a process runs, after a first look."""
    marks = Marks()
    marks.moved(count([pid]), 0)
    moved = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(0.1)
        moved.append(marks.moved(count([pid]), 0))
    return [names for names in moved if names]


@pytest.mark.parametrize(
    "code",
    [
        "print('begun', flush=True)\nwhile True: pass",
        "import os, select\nr, w = os.pipe()\nprint('begun', flush=True)\n"
        "while True:\n os.write(w, b'12345678'); select.select([r], [], [], 0.001); os.read(r, 4096)",
        "import time\nprint('begun', flush=True)\nwhile True:\n open('/proc/self/stat').read(); open('/proc/meminfo').read(); time.sleep(0.001)",
    ],
    ids=["spins at 100 %", "wakes itself by a pipe", "reads its own statistics"],
)
def test_a_real_process_that_only_turns_gets_nowhere(code: str) -> None:
    with child(code) as pid:
        time.sleep(0.3)
        assert looks(pid, 0.6) == []


def test_a_real_process_that_reads_a_file_from_the_page_cache_moves(tmp_path: Path) -> None:
    weights = tmp_path / "model-00001-of-00001.safetensors"
    weights.write_bytes(b"x" * 2 * MIB)
    code = (
        "import sys, time\nprint('begun', flush=True)\nwhile True:\n open(sys.argv[1], 'rb').read(); time.sleep(0.05)"
    )
    with child(code, str(weights)) as pid:
        assert ["bytes read"] in looks(pid, 0.6)


def test_a_real_process_that_fills_memory_moves() -> None:
    with child(
        "import time\nprint('begun', flush=True)\nkept = []\nwhile True:\n kept.append(b'x' * (4 << 20)); time.sleep(0.05)"
    ) as pid:
        assert ["memory"] in looks(pid, 0.6)


def test_a_mapped_weight_file_shows_by_name(tmp_path: Path) -> None:
    weights = tmp_path / "model-00003-of-00064.safetensors"
    weights.write_bytes(b"x" * 4096)
    code = (
        "import mmap, sys, time\nf = open(sys.argv[1], 'rb')\n"
        "m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)\n"
        "print('begun', flush=True)\ntime.sleep(60)"
    )
    with child(code, str(weights)) as pid:
        seen = count([pid])
    assert seen.shard_files == ("model-00003-of-00064.safetensors",)
    assert list(seen.commands.values()) == [1]
    assert seen.resident_bytes > MIB


def test_the_family_of_a_process_leaves_out_the_gate_beside_it() -> None:
    code = "import subprocess, time\np = subprocess.Popen(['sleep', '60'])\nprint('begun', flush=True)\ntry:\n time.sleep(60)\nfinally:\n p.kill()"
    with child(code) as pid, child("import time\nprint('begun', flush=True)\ntime.sleep(60)") as gate:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        family = family_of(pid, pids)
        subprocess.run(["kill", *map(str, set(family) - {pid})], check=True)
    assert pid in family
    assert len(family) == 2
    assert gate not in family


def test_a_process_that_is_gone_is_left_out() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert count([process.pid]) == Counters(memory=count([]).memory)
