# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the engine double as wheels of the versions it speaks: `build.py OUT_DIR`. Standard library only, no network.

The wheels are named and versioned as the engine's, so that whatever installs the engine installs the double when it is given this
folder: `pip install --no-index --find-links OUT_DIR --require-hashes -r OUT_DIR/requirements-<version>.txt`. The same sources give
the same bytes, and so the same hash.
"""

from __future__ import annotations

import base64
import hashlib
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
FLAG_TABLES = HERE.parents[1] / "data" / "sglang" / "flags"
VERSIONS = ("0.5.9", "0.5.23")
EPOCH = (2026, 1, 1, 0, 0, 0)


def build(version: str, out: Path) -> Path:
    """Write the wheel of one version, and a requirement file with its hash, below `out`."""
    files: dict[str, bytes] = {}
    for source in sorted((HERE / "package").rglob("*")):
        if source.suffix in (".py", ".json"):
            files[source.relative_to(HERE / "package").as_posix()] = source.read_bytes()
    files["sglang/version.py"] = f'__version__ = "{version}"\n'.encode()
    files["sglang/double/flags.json"] = (FLAG_TABLES / f"{version}.json").read_bytes()
    return write_wheel("sglang", version, files, out, "A double of SGLang for the tests of blackwell.inference")


def write_wheel(name: str, version: str, files: dict[str, bytes], out: Path, summary: str) -> Path:
    """A pure wheel of `files` (path in the wheel -> content), the same bytes each time, and `requirements-<version>.txt` for it."""
    out.mkdir(parents=True, exist_ok=True)
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: {summary}\nRequires-Python: >=3.9\n"
    content = {
        **files,
        f"{info}/METADATA": metadata.encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: blackwell.inference\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = [f"{path},sha256={_digest(data)},{len(data)}" for path, data in content.items()]
    content[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
    target = out / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in content.items():
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    (out / f"requirements-{version}.txt").write_text(f"{name}=={version} --hash=sha256:{digest}\n", encoding="utf-8")
    return target


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print("usage: build.py OUT_DIR", file=sys.stderr)
        return 2
    for version in VERSIONS:
        print(build(version, Path(arguments[0])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
