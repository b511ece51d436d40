# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the fake `libnvidia-ml.so.1` into the cache, once for each state of its sources, and prints its path.

The header comes from the package nvidia-nvml-dev, whose terms are NVIDIA's: it is fetched at build time by hash, and neither it nor the stubs made
from it are committed. The library has to load in Debian 12 (glibc 2.36) whatever machine built it: it keeps to functions that are older, and the
build fails when the linker bound it to a newer one.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = sorted((HERE / "src").glob("*.[ch]"))
LIBRARY = "libnvidia-ml.so.1"

HEADER_PACKAGE = "nvidia-nvml-dev==13.5.37"
HEADER_DIGEST = "7394fcbefa9ba537e8238cbb1caa4cd2db6bbfbff208d217a8a884947113ae6d"
HEADER_MEMBER = "nvidia/cu13/include/nvml.h"
NEWEST_GLIBC = (2, 36)

CFLAGS = (
    "-std=c11",
    "-D_POSIX_C_SOURCE=200809L",
    "-O2",
    "-fPIC",
    "-fvisibility=default",
    "-Wall",
    "-Wextra",
)
# _POSIX_C_SOURCE rather than _GNU_SOURCE: the latter binds strtoul to a C23 variant that glibc has only since 2.38.

DECLARATION = re.compile(r"nvmlReturn_t\s+DECLDIR\s+(nvml\w+)\s*\(")


class BuildError(Exception):
    """A sentence for whoever called."""


def cache_root() -> Path:
    named = os.environ.get("BLACKWELL_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "blackwell-inference"


def source_digest() -> str:
    digest = hashlib.sha256(HEADER_DIGEST.encode())
    for path in [*SOURCES, Path(__file__).resolve()]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def run(*command: str | Path) -> str:
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        raise BuildError(
            f"The fake NVML library needs {command[0]}, which is not installed: install it (Debian: gcc, libc6-dev, binutils)."
        ) from missing
    if done.returncode:
        raise BuildError(
            f"{command[0]} failed with {done.returncode} while the fake NVML library was built:\n{done.stderr.strip()}"
        )
    return done.stdout


def header_file() -> Path:
    """nvml.h of the pinned package, kept in the cache: a change of the sources builds without the network."""
    kept = cache_root() / "nvml" / f"{HEADER_DIGEST[:16]}.h"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent, prefix="header-") as name:
            fetch_header(Path(name)).replace(kept)
    return kept


def fetch_header(folder: Path) -> Path:
    requirement = folder / "requirement.txt"
    requirement.write_text(f"{HEADER_PACKAGE} --hash=sha256:{HEADER_DIGEST}\n", encoding="utf-8")
    run(
        *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"),
        *("--only-binary=:all:", "--require-hashes", "--dest", folder, "--requirement", requirement),
    )
    (wheel,) = folder.glob("*.whl")
    header = folder / "nvml.h"
    with zipfile.ZipFile(wheel) as archive:
        header.write_bytes(archive.read(HEADER_MEMBER))
    return header


def stubs(header: str, sources: str) -> str:
    """C text: each function that the header declares and the sources lack, answering NOT_SUPPORTED."""
    answered = set(re.findall(r"\b(nvml[A-Z]\w+)\b", sources))
    missing = sorted(set(DECLARATION.findall(header)) - answered)
    lines = ["int fake_nvml_unanswered(const char *function);"]
    lines += [f'int {name}(void)\n{{\n    return fake_nvml_unanswered("{name}");\n}}' for name in missing]
    return "\n".join(lines) + "\n"


def required_glibc(library: Path) -> tuple[int, int]:
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", run("readelf", "--version-info", library))
    return max((int(major), int(minor)) for major, minor in versions)


def compile_library(folder: Path, digest: str) -> Path:
    header = folder / "nvml.h"
    shutil.copy(header_file(), header)
    stub_file = folder / "stubs.c"
    stub_file.write_text(
        stubs(header.read_text(encoding="utf-8"), "".join(path.read_text(encoding="utf-8") for path in SOURCES)),
        encoding="utf-8",
    )
    build_id = folder / "build_id.c"
    build_id.write_text(f'const char *fake_nvml_build(void)\n{{\n    return "{digest}";\n}}\n', encoding="utf-8")
    library = folder / LIBRARY
    sources = [path for path in SOURCES if path.suffix == ".c"]
    run("gcc", *CFLAGS, "-DNVML_NO_UNVERSIONED_FUNC_DEFS", "-isystem", folder, "-shared", f"-Wl,-soname,{LIBRARY}", "-Wl,-z,defs", "-o", library,
        *sources, stub_file, build_id, "-lpthread")  # fmt: skip
    glibc = required_glibc(library)
    if glibc > NEWEST_GLIBC:
        raise BuildError(
            f"The fake NVML library was bound to glibc {glibc[0]}.{glibc[1]}, and Debian 12 has {NEWEST_GLIBC[0]}.{NEWEST_GLIBC[1]}: "
            "some source calls a newer function; use an older one."
        )
    return library


def build() -> Path:
    """The library's path; made when the cache does not hold this state of the sources yet."""
    digest = source_digest()
    wanted = cache_root() / "nvml" / digest / LIBRARY
    if wanted.exists():
        return wanted
    wanted.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=wanted.parent, prefix="build-") as name:
        compile_library(Path(name), digest).replace(wanted)  # whole or not at all, also when two builds race
    return wanted


if __name__ == "__main__":
    try:
        print(build())
    except BuildError as failure:
        sys.exit(str(failure))
