# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a test host gets to see below /srv, made in a folder: `python -m ...doubles.parts FOLDER`.

`wheels` holds the engine double in each version with its lock; `models` holds Kimi-K2.5 in holes instead of weights, and a checkpoint that
was cut off.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from ansible_collections.blackwell.inference.tests.doubles.checkpoint import write_checkpoint
from ansible_collections.blackwell.inference.tests.doubles.engine.build import VERSIONS, build

CONFIG = Path(__file__).resolve().parents[1] / "data" / "models" / "kimi-k2.5" / "config.json"
KIMI_SHARDS = 64
KIMI_BYTES = 547 * 10**9  # on the disk of the design host, 2026-02-24


def make_parts(directory: Path) -> Path:
    for version in VERSIONS:
        build(version, directory / "wheels")
    config = json.loads(CONFIG.read_text(encoding="utf-8"))
    write_checkpoint(directory / "models" / "kimi-k2.5", config, KIMI_SHARDS, KIMI_BYTES // KIMI_SHARDS)
    write_checkpoint(directory / "models" / "truncated", config, 2, 1 << 20)
    os.truncate(directory / "models" / "truncated" / "model-00001-of-000002.safetensors", 1 << 19)
    return directory


if __name__ == "__main__":
    make_parts(Path(sys.argv[1]))
