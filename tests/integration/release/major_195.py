# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs in the virtual machine: devices with the driver's own numbers, processes that hold them, and their release. Prints what came of it.

    python3 -m ansible_collections.blackwell.inference.tests.integration.release.major_195 HOLDER DIRECTORY

HOLDER: the program of tests/doubles/holders. DIRECTORY: where nodes can be made and everybody may go.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.blackwell.inference.plugins.module_utils.observe.holders.gpu_nodes import MAJOR, read_gpu_nodes
from ansible_collections.blackwell.inference.plugins.module_utils.release.host import LocalHost
from ansible_collections.blackwell.inference.plugins.module_utils.release.release import release
from ansible_collections.blackwell.inference.plugins.module_utils.release.request import ARGUMENTS, read_request
from ansible_collections.blackwell.inference.tests.doubles.cuse import DOOR, make_device

OURS, OTHER = 4195, 4196
"""Users, who need no name."""


def make_driver(directory: Path) -> dict[str, str]:
    """Paths of nodes: of two GPUs, one of which has a second node elsewhere and the other none in /dev."""
    for name, major, minor in (
        ("nvidia0", MAJOR, 0),
        ("nvidia1", MAJOR, 1),
        ("nvidiactl", MAJOR, 255),
        ("nvidia-uvm", 0, 0),
    ):
        make_device(name, major, minor)
    Path("/dev/nvidia1").unlink()
    nodes = {
        "gpu 0": Path("/dev/nvidia0"),
        "gpu 0 again": directory / "card0",
        "gpu 1": directory / "card1",
        "control": Path("/dev/nvidiactl"),
        "uvm": Path("/dev/nvidia-uvm"),
    }
    for minor, name in enumerate(("gpu 0 again", "gpu 1")):
        os.mknod(nodes[name], stat.S_IFCHR, os.makedev(MAJOR, minor))
    for path in nodes.values():
        path.chmod(0o666)
    return {name: str(path) for name, path in nodes.items()}


def hold(holder: str, uid: int, paths: Sequence[str]) -> subprocess.Popen[str]:
    """Returns when it holds them, and dies with us."""
    user = ("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--pdeathsig=KILL", "--")
    opened = [word for path in paths for word in ("--open", path)]
    process = subprocess.Popen([*user, holder, *opened], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert int(process.stdout.readline()) == process.pid
    return process


def play(holder: str, directory: Path) -> dict[str, Any]:
    nodes = make_driver(directory)
    players = {
        "ours": hold(holder, OURS, [nodes["gpu 0"], nodes["control"], nodes["uvm"]]),
        "ours, no node in /dev": hold(holder, OURS, [nodes["gpu 1"]]),
        "another user's, other path": hold(holder, OTHER, [nodes["gpu 0 again"], nodes["control"]]),
        "ours, no GPU": hold(holder, OURS, ["/dev/null"]),
    }
    try:
        return {**look_and_release(players), "uvm_major": os.major(os.stat(nodes["uvm"]).st_rdev)}
    finally:
        for process in players.values():
            process.kill()
            process.wait()


def look_and_release(players: Mapping[str, subprocess.Popen[str]]) -> dict[str, Any]:
    names = {process.pid: name for name, process in players.items()}
    seen = read_gpu_nodes()
    options = {name: argument.get("default") for name, argument in ARGUMENTS.items()}
    request = read_request({**options, "user": str(OURS)})
    report = release(LocalHost(request, no_commands, None), request).as_dict()
    return {
        "characters": Path("/proc/devices").read_text().partition("Block devices:")[0].splitlines(),
        "nodes": seen.as_json(),
        "holders": {names.get(told["pid"], told["name"]): told for told in report["holders"]},
        "state": report["state"],
        "gpus": report["gpus"],
        "ended_by": {name: process.poll() for name, process in players.items()},
    }


def no_commands(_command: Sequence[str]) -> tuple[int, str, str]:
    raise NotImplementedError("Only a unit has to be asked for.")


def main() -> None:
    holder, directory = sys.argv[1:]
    subprocess.run(["modprobe", "cuse"], check=False, capture_output=True)
    print(json.dumps(play(holder, Path(directory)) if DOOR.is_char_device() else None))


if __name__ == "__main__":
    main()
