# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring the wheels of the real engine on a CPU into the cache, and print their folder: `fetch.py`.

The folder is all that a Debian 12 host needs: `pip install --no-index --find-links FOLDER --require-hashes --no-deps -r
FOLDER/requirements.txt`. It lies under the hash of what it is made from, so a second call finds it ready.

TORCH_CPU_INDEX   index of torch's CPU builds, unless the pip here finds them by itself
TORCH_CPU_SHA256  hash of another build of that wheel to accept, where its index carries one
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import pure_wheel  # noqa: E402

LOCK = HERE / "requirements-cpu-0.5.23.txt"
SHIMS_VERSION = "1.0.0"
TORCH = "torch==2.13.0+cpu \\\n"
# Debian 12: CPython 3.11 and glibc 2.36.
GLIBC_MINORS = range(5, 37)


def folder() -> Path:
    """The folder of wheels, made now if it is not there."""
    cache = Path(os.environ.get("BLACKWELL_CACHE") or home_cache() / "blackwell-inference")
    with tempfile.TemporaryDirectory() as scratch:
        shims = build_shims(Path(scratch))
        lock = with_further_hash(LOCK.read_text(encoding="utf-8"))
        requirements = f"{lock}{pure_wheel.pin(shims)}\n"
        target = cache / "engine-cpu" / hashlib.sha256(requirements.encode()).hexdigest()[:16]
        if not target.is_dir():
            _fill(target, lock, requirements, shims)
    return target


def build_shims(out: Path) -> Path:
    """The wheel that lets the published engine run on a CPU; see tests/engine/shims."""
    files = {
        path.relative_to(HERE / "shims").as_posix(): path.read_bytes()
        for path in sorted((HERE / "shims").rglob("*.py"))
    }
    files["sglang_cpu_shims.pth"] = b"import sglang_cpu_shims; sglang_cpu_shims.install()\n"
    return pure_wheel.write(
        "sglang-cpu-shims", SHIMS_VERSION, files, out, "Lets the published SGLang run on a CPU, for tests"
    )


def with_further_hash(text: str) -> str:
    """A lock, with a further hash for torch where one is given."""
    further = os.environ.get("TORCH_CPU_SHA256")
    return text.replace(TORCH, f"{TORCH}    --hash=sha256:{further} \\\n") if further else text


def _fill(target: Path, lock: str, requirements: str, shims: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # Beside the target, and renamed when it is whole: a download that was cut off leaves nothing that looks complete.
    half = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        (half / "lock.txt").write_text(lock, encoding="utf-8")
        _download(half)
        shutil.copy(shims, half)
        (half / "requirements.txt").write_text(requirements, encoding="utf-8")
        half.chmod(0o755)
        if not target.is_dir():
            half.rename(target)
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _download(out: Path) -> None:
    platforms = [f"manylinux_2_{minor}_x86_64" for minor in GLIBC_MINORS]
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--require-hashes",
        "--only-binary",
        ":all:",
    ]
    command += ["--implementation", "cp", "--python-version", "3.11", "--dest", str(out), "-r", str(out / "lock.txt")]
    for platform in [*platforms, "manylinux1_x86_64", "manylinux2010_x86_64", "manylinux2014_x86_64"]:
        command += ["--platform", platform]
    index = os.environ.get("TORCH_CPU_INDEX")
    command += ["--extra-index-url", index] if index else []
    # Output goes to stderr: stdout is the folder's name.
    subprocess.run(command, check=True, stdout=sys.stderr)


def home_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def main() -> int:
    print(folder())
    return 0


if __name__ == "__main__":
    sys.exit(main())
