# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a look for holders costs among 5,000 processes with 100,000 descriptors, and what `fuser` and `lsof` cost and miss. Needs root.

The nodes carry numbers of harmless devices. They and all processes live in namespaces of their own, which end with this program however it
ends. All take turns, so that what else the machine does falls on all of them.
"""

from __future__ import annotations

import json
import os
import resource
import stat
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ansible_collections.blackwell.inference.plugins.module_utils.observe.holders.gpu_nodes import GpuNodes
from ansible_collections.blackwell.inference.plugins.module_utils.observe.holders.scan import read_holders
from ansible_collections.blackwell.inference.tests.doubles.companions import DIES_WITH_US
from ansible_collections.blackwell.inference.tests.doubles.nvml.nodes import CANDIDATES, openable

RUNS = 5
PROCESSES, DESCRIPTORS_EACH, MAPPINGS_EACH = 5000, 20, 60
GOAL_SECONDS, GOAL_MB = 2.0, 100
ZERO = (1, 5)  # the only number whose node can be mapped
SPECIAL = {
    "plain": "a descriptor",
    "thread": "a descriptor of a thread whose leader has exited",
    "mapping": "a mapping without a descriptor",
    "other": "a descriptor by a node at another place",
}
PRIVATE, SCAN = "in-own-namespaces", "scan"
NAMESPACES = ("unshare", "--mount", "--propagation=private", "--pid", "--mount-proc", "--fork", "--kill-child")
PLACE = Path("/mnt")


class Cost(NamedTuple):
    wall_seconds: float
    cpu_seconds: float
    peak_mb: float
    pids: frozenset[int]


def children_usage() -> tuple[float, float]:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def measured(command: list[str | Path]) -> Cost:
    """Of a command that prints pids."""
    before, _peak = children_usage()
    began = time.monotonic()
    done = subprocess.run([*DIES_WITH_US, *command], capture_output=True, text=True, check=False)
    wall = time.monotonic() - began
    pids = frozenset(int(word) for word in done.stdout.split() if word.isdigit())
    return Cost(wall, children_usage()[0] - before, 0.0, pids)


def our_scan(nodes: dict[str, tuple[int, int]]) -> Cost:
    """In a process of its own: the largest child of this one was somebody else."""
    command = [sys.executable, __file__, SCAN, json.dumps(list(nodes.items()))]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return Cost(told["wall_seconds"], told["cpu_seconds"], told["peak_mb"], frozenset(told["pids"]))


def scan(nodes: GpuNodes) -> None:
    began = time.monotonic()
    found = read_holders(nodes, ["CUDA_VISIBLE_DEVICES"], 20)
    wall = time.monotonic() - began
    cpu, peak = children_usage()
    if found.unread:
        sys.exit(f"the scan could not read everything: {found.unread}")
    pids = [holder.identity.pid for holder in found.holders]
    print(json.dumps({"wall_seconds": wall, "cpu_seconds": cpu, "peak_mb": peak, "pids": pids}))


def make_nodes(directory: Path) -> tuple[dict[str, tuple[int, int]], dict[str, Path]]:
    """Numbers by name, and the node that each kind of holder opens."""
    free = [number for number in openable(CANDIDATES) if number != ZERO]
    numbers = {"nvidia0": free[0], "nvidia1": ZERO}
    for name, number in (*numbers.items(), ("elsewhere", free[0])):
        os.mknod(directory / name, stat.S_IFCHR | 0o600, os.makedev(*number))
    places = {"plain": "nvidia0", "thread": "nvidia0", "mapping": "nvidia1", "other": "elsewhere"}
    return numbers, {kind: directory / name for kind, name in places.items()}


def start_crowd(directory: Path, places: dict[str, Path]) -> dict[int, str]:
    program = directory / "crowd"
    source = Path(__file__).with_name("crowd.c")
    subprocess.run(["gcc", "-O1", "-pthread", "-o", program, source], check=True)
    sizes = [str(size) for size in (PROCESSES, DESCRIPTORS_EACH, MAPPINGS_EACH)]
    crowd = subprocess.Popen(
        [*DIES_WITH_US, program, *sizes, *(f"{kind}={node}" for kind, node in places.items())],
        stdout=subprocess.PIPE,
        text=True,
    )
    kinds = {}
    for line in crowd.stdout or ():
        words = line.split()
        if words == ["ready"]:
            return kinds
        kinds[int(words[1])] = words[0]
    sys.exit("the processes to look through could not be started")


def median(costs: list[Cost]) -> Cost:
    middle = [statistics.median(cost[index] for cost in costs) for index in range(3)]
    return Cost(*middle, costs[0].pids)


def report(costs: dict[str, Cost], kinds: dict[int, str]) -> None:
    ours = costs["read_holders"]
    for name, cost in costs.items():
        missed = [SPECIAL[kind] for pid, kind in kinds.items() if pid not in cost.pids]
        ratio = "" if cost is ours else f", {cost.wall_seconds / ours.wall_seconds:.1f} times ours"
        print(
            f"{name:14} {cost.wall_seconds:6.2f} s wall{ratio}, {cost.cpu_seconds:.2f} s of CPU; misses {'; '.join(missed) or 'none'}"
        )
    print(f"{'':14} {ours.peak_mb:6.0f} MB at most")
    strangers = sorted(ours.pids - set(kinds))
    if strangers or set(kinds) - ours.pids:
        sys.exit(f"wrong holders: {sorted(set(kinds) - ours.pids)} missed, {strangers} do not hold these nodes")
    met = ours.wall_seconds <= GOAL_SECONDS and ours.peak_mb <= GOAL_MB
    print(f"{'met' if met else 'missed'}: the goal of {GOAL_SECONDS:g} s and {GOAL_MB} MB, on two idle cores")


def compare() -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=700", "none", PLACE], check=True)
    numbers, places = make_nodes(PLACE)
    kinds = start_crowd(PLACE, places)
    shown = [PLACE / node for node in numbers]
    ways: dict[str, Callable[[], Cost]] = {
        "read_holders": lambda: our_scan(numbers),
        "fuser -v": lambda: measured(["fuser", "-v", *shown]),
        "lsof -t": lambda: measured(["lsof", "-t", *shown]),
    }
    costs: dict[str, list[Cost]] = {way: [] for way in ways}
    for _run in range(RUNS):
        for way, cost in ways.items():
            costs[way].append(cost())
    print(f"{PROCESSES:,} processes with {PROCESSES * DESCRIPTORS_EACH:,} descriptors, median of {RUNS}:")
    report({way: median(taken) for way, taken in costs.items()}, kinds)


def main() -> None:
    if sys.argv[1:2] == [SCAN]:
        scan(GpuNodes({(major, minor): name for name, (major, minor) in json.loads(sys.argv[2])}))
    elif sys.argv[1:] == [PRIVATE]:
        compare()
    else:
        if os.geteuid():
            sys.exit("only root may make device nodes: run this as root")
        os.execvp("unshare", [*NAMESPACES, sys.executable, __file__, PRIVATE])


if __name__ == "__main__":
    main()
