# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The published SGLang in virtual environments on CPU builds, in the cache: `environments.py VERSION` prints the interpreter.

0.5.9 and 0.5.23 have a lock each (tests/engine/requirements-cpu-VERSION.txt). Other versions lie over one of them as a folder that is
searched first, with the few wheels in which they differ: requirements-over-BASE-VERSION.txt beside this file.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "engine"))

import fetch  # noqa: E402
import pure_wheel  # noqa: E402

# version -> the environment that it is laid over
OVER = {"0.5.5": "0.5.9", "0.5.14": "0.5.23", "0.5.17": "0.5.23"}
VERSIONS = ("0.5.5", "0.5.9", "0.5.14", "0.5.17", "0.5.23")


@dataclass(frozen=True)
class Engine:
    """An interpreter that imports one version of SGLang, given `path` as PYTHONPATH."""

    version: str
    python: Path
    path: Path | None

    def environment(self) -> dict[str, str]:
        return {**os.environ, **({"PYTHONPATH": str(self.path)} if self.path else {})}


def engine(version: str) -> Engine:
    """The environment of a version, made now if it is not there."""
    base = OVER.get(version, version)
    lock = ROOT / "tests" / "engine" / f"requirements-cpu-{base}.txt"
    with tempfile.TemporaryDirectory() as scratch:
        shims = fetch.build_shims(Path(scratch))
        text = f"{fetch.with_further_hash(lock.read_text(encoding='utf-8'))}{pure_wheel.pin(shims)}\n"
        python = _made(text, lambda target: _environment(target, text, shims)) / "bin" / "python"
    if base == version:
        return Engine(version, python, None)
    over = (HERE / f"requirements-over-{base}-{version}.txt").read_text(encoding="utf-8")
    return Engine(version, python, _made(over, lambda target: _install(python, over, "--target", str(target))))


def _environment(target: Path, text: str, shims: Path) -> None:
    python = subprocess.run(
        [str(ROOT / "tests" / "tools" / "interpreter"), "3.11"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    # At its final place: scripts and the configuration of an environment name it.
    subprocess.run([python, "-m", "venv", str(target)], check=True, stdout=sys.stderr)
    _install(target / "bin" / "python", text, "--find-links", str(shims.parent))


def _install(python: Path, requirements: str, *options: str) -> None:
    index = os.environ.get("TORCH_CPU_INDEX")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(requirements)
        file.flush()
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--require-hashes", "--only-binary", ":all:", *options, "--requirement", file.name]
        subprocess.run([*command, *(["--extra-index-url", index] if index else [])], check=True, stdout=sys.stderr)


def _made(content: str, make: Callable[[Path], object]) -> Path:
    """The folder of the cache that holds what `make` makes of this content; a mark in it says that it is whole."""
    cache = Path(os.environ.get("BLACKWELL_CACHE") or fetch.home_cache() / "blackwell-inference")
    cache.mkdir(parents=True, exist_ok=True)
    target = cache / f"conformance-{hashlib.sha256(content.encode()).hexdigest()[:16]}"
    with open(cache / "conformance.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (target / "complete").exists():
            print(f"making {target}", file=sys.stderr)
            shutil.rmtree(target, ignore_errors=True)
            make(target)
            (target / "complete").touch()
    return target


def main(arguments: list[str]) -> int:
    for version in arguments or VERSIONS:
        made = engine(version)
        print(made.version, made.python, made.path or "")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
