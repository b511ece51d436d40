# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine's ModelConfig of a config.json that a case holds."""

from __future__ import annotations

import atexit
import hashlib
import inspect
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import sglang.srt.configs.model_config as engine

_FOLDER = Path(tempfile.mkdtemp(prefix="conformance-"))
atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)


def folder(config: dict[str, Any]) -> str:
    """A model directory without weights. The engine remembers a directory by its name: each content has one of its own."""
    text = json.dumps(config, sort_keys=True)
    target = _FOLDER / hashlib.sha256(text.encode()).hexdigest()[:16]
    target.mkdir(exist_ok=True)
    (target / "config.json").write_text(text, encoding="utf-8")
    return str(target)


def model_config(config: dict[str, Any], **settings: Any) -> Any:
    """`settings` that this version does not know are left out."""
    known = inspect.signature(engine.ModelConfig).parameters
    return engine.ModelConfig(
        folder(config), trust_remote_code=False, **{k: v for k, v in settings.items() if k in known}
    )
