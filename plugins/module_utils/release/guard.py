# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that a unit runs before the engine: refuses GPUs that are not free. Private to the collection, may change any time.

It ends nothing. It refuses on evidence alone: what it cannot judge it says, and lets the engine try.
"""

from __future__ import annotations

import argparse
import glob
import importlib.util
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Callable

from ..core.errors import InferenceError
from ..observe.systemd import SystemdSilent
from ..observe.virtualisation import ask_systemd
from .host import LocalHost
from .proof import Proof
from .request import ReleaseRequest, uid_of
from .snapshot import Snapshot

REFUSAL = "The GPUs are not free:"
_POLL_SECONDS = 2.0
_COMMAND_SECONDS = 30.0


class Commands:
    """The part of AnsibleModule that is needed here, without Ansible."""

    def get_bin_path(self, arg: str) -> str | None:
        return shutil.which(arg)

    def run_command(self, args: Sequence[str]) -> tuple[int, str, str]:
        done = subprocess.run(  # pylint: disable=ansible-bad-function
            args, capture_output=True, text=True, check=False, timeout=_COMMAND_SECONDS, stdin=subprocess.DEVNULL
        )
        return done.returncode, done.stdout, done.stderr


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status: 1 when the GPUs are not free."""
    options = _options(argv)
    sys.path += glob.glob(f"{options.toolbox}/lib/python3*/site-packages")
    if importlib.util.find_spec("pynvml") is None:
        return _let_pass(f"nvidia-ml-py cannot be imported, neither by {sys.executable} nor from {options.toolbox}")
    request = ReleaseRequest(
        gpus=tuple(options.gpus),
        unit=options.unit,
        uid=uid_of(options.user),
        environment=dict(pair.split("=", 1) for pair in options.environment),
        allow=tuple(options.allow),
    )
    commands = Commands()
    try:
        host = LocalHost(request, commands.run_command, ask_systemd(commands))
        proof = wait_until_free(host.snapshot, options.deadline)
    except SystemdSilent as silence:
        return _let_pass(str(silence).rstrip("."))
    except InferenceError as error:
        return _refuse(str(error))
    except Exception as error:  # a server that would start must not stay down for a fault of ours
        return _let_pass(f"{type(error).__name__}: {error}")
    if proof.state == "released":
        return 0
    if proof.state == "unproven":
        return _let_pass(f"{proof.why}".rstrip("."))
    return _refuse(f"{proof.why} {proof.next_step}")


def wait_until_free(
    snapshot: Callable[[], Snapshot],
    deadline_seconds: float,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Proof:
    """The first proof that they are free, or the last one in time: the exit of a process with hundreds of GB pinned takes tens of seconds."""
    end = now() + deadline_seconds
    while True:
        seen = snapshot()
        proof = seen.proof
        settled = proof.state in ("released", "unproven") or not seen.may_empty
        if settled or now() + _POLL_SECONDS > end:
            return proof
        sleep(_POLL_SECONDS)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Refuses GPUs that are not free.")
    parser.add_argument("--unit", required=True, help="the unit that is about to start")
    parser.add_argument("--toolbox", required=True, help="environment that has nvidia-ml-py")
    parser.add_argument("--deadline", type=float, required=True, help="seconds to wait for GPUs to become free")
    parser.add_argument("--user", required=True, help="user that the unit runs as")
    parser.add_argument(
        "--environment", nargs="+", required=True, help="NAME=VALUE in the environment of its processes"
    )
    parser.add_argument("--gpus", nargs="*", default=[], help="GPUs by index, UUID or PCI address; default: all")
    parser.add_argument("--allow", nargs="*", default=[], help="executables and units that may keep the GPUs open")
    return parser.parse_args(argv)


def _refuse(sentence: str) -> int:
    sys.stderr.write(f"{REFUSAL} {sentence}\n")
    return 1


def _let_pass(reason: str) -> int:
    sys.stderr.write(f"Whether the GPUs are free cannot be told: {reason}. The engine is started all the same.\n")
    return 0
