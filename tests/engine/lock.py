# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the locks of the engine's environments, every distribution with the hash of its wheel.

    lock.py cuda VERSION     roles/sglang_runtime/files/requirements-VERSION.txt, the engine as it is published
    lock.py cpu [VERSION]    tests/engine/requirements-cpu-VERSION.txt, the engine on a CPU, for the tests (0.5.23; 0.5.9 for `make conformance`)

Run it with CPython 3.11 on x86_64 Linux, the platform that the wheels are for, and a pip that knows `--report` (22.2 or later). pip
resolves from metadata, so no large wheel is fetched. For `cpu`, TORCH_CPU_INDEX names the index of torch's CPU builds, unless the
pip here finds them by itself.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CPU_VERSION = "0.5.23"
# Wheels of our own in the CPU environment; tests/engine/wheels.py makes them and adds their hashes.
OWN = ("sglang-cpu-shims",)


def resolve(arguments: Sequence[str]) -> list[dict[str, Any]]:
    """What pip would install, from its report."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--dry-run",
        "--ignore-installed",
        "--only-binary",
        ":all:",
    ]
    done = subprocess.run([*command, "--report", "-", *arguments], check=True, stdout=subprocess.PIPE)
    return list(json.loads(done.stdout)["install"])


def lines(installs: Sequence[dict[str, Any]]) -> list[str]:
    pins: dict[str, str] = {}
    for install in installs:
        name = install["metadata"]["name"].lower().replace("_", "-").replace(".", "-")
        digest = install["download_info"]["archive_info"]["hashes"]["sha256"]
        pins[name] = f"{name}=={install['metadata']['version']} \\\n    --hash=sha256:{digest}"
    return [pins[name] for name in sorted(pins)]


def header(what: str, how: str) -> list[str]:
    made = f"Made by tests/engine/lock.py on {datetime.datetime.now(datetime.UTC).date()}"
    return [
        f"# {what}",
        f"# {made} for CPython 3.11 on x86_64 Linux; {how}",
        "# Complete: install it with --no-deps --require-hashes.",
    ]


def cuda(version: str) -> Path:
    target = ROOT / "roles" / "sglang_runtime" / "files" / f"requirements-{version}.txt"
    text = header(f"SGLang {version} as published, with CUDA.", "resolved by pip from the metadata of the wheels.")
    _write(target, [*text, *lines(resolve([f"sglang=={version}"]))])
    return target


def cpu(version: str) -> Path:
    index = os.environ.get("TORCH_CPU_INDEX")
    further = ["--extra-index-url", index] if index else []
    base = resolve([*further, "-r", str(HERE / f"cpu-{version}.in")])
    rest = resolve(["--no-deps", "-r", str(HERE / f"cpu-{version}-no-deps.in")])
    target = HERE / f"requirements-cpu-{version}.txt"
    text = header(
        f"SGLang {version} on a CPU, for tests.",
        f"the wheels of ours ({', '.join(OWN)}) are added when they are built.",
    )
    _write(target, [*text, *lines([*base, *rest])])
    return target


def _write(target: Path, text: Sequence[str]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(text) + "\n", encoding="utf-8")


def main(arguments: list[str]) -> int:
    if sys.version_info[:2] != (3, 11) or platform.machine() != "x86_64":
        print(
            "Run this with CPython 3.11 on x86_64: the wheels of SGLang 0.5.11 and later are made for it.",
            file=sys.stderr,
        )
        return 2
    if arguments[:1] == ["cpu"] and len(arguments) <= 2:
        print(cpu(arguments[1] if arguments[1:] else CPU_VERSION))
        return 0
    if len(arguments) == 2 and arguments[0] == "cuda":
        print(cuda(arguments[1]))
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
