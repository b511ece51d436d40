# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the engine double as wheels of the versions it speaks: `build.py OUT_DIR`. Standard library only, no network.

The wheels are named and versioned as the engine's, so that whatever installs the engine installs the double when it is given this
folder: `pip install --no-index --find-links OUT_DIR --require-hashes -r OUT_DIR/requirements-<version>.txt`. The same sources give
the same bytes, and so the same hash.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "engine"))

import pure_wheel  # noqa: E402

FLAG_TABLES = HERE.parents[1] / "data" / "sglang" / "flags"
VERSIONS = ("0.5.9", "0.5.23")


def build(version: str, out: Path) -> Path:
    """Write the wheel of one version, and a requirement file with its hash, below `out`."""
    files: dict[str, bytes] = {}
    for source in sorted((HERE / "package").rglob("*")):
        if source.suffix in (".py", ".json"):
            files[source.relative_to(HERE / "package").as_posix()] = source.read_bytes()
    files["sglang/version.py"] = f'__version__ = "{version}"\n'.encode()
    files["sglang/double/flags.json"] = (FLAG_TABLES / f"{version}.json").read_bytes()
    wheel = pure_wheel.write("sglang", version, files, out, "A double of SGLang for the tests of blackwell.inference")
    (out / f"requirements-{version}.txt").write_text(f"{pure_wheel.pin(wheel)}\n", encoding="utf-8")
    return wheel


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print("usage: build.py OUT_DIR", file=sys.stderr)
        return 2
    for version in VERSIONS:
        print(build(version, Path(arguments[0])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
