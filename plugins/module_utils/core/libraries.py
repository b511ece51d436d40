# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a module finds its Python libraries. Private to the collection, may change any time.

In this order: the module's own Python; the toolbox's, by running again there; wheels that the action plugin laid down for this run.
A module that finds none fails with the key `missing_libraries`, which tells the action plugin what to bring.
"""

from __future__ import annotations

import glob
import importlib
import importlib.util
import os
import platform
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ansible.module_utils.common.respawn import has_respawned, respawn_module

DEFAULT_PATH = "/opt/blackwell-inference/toolbox"

# Documented by the fragment blackwell.inference.toolbox.
ARGUMENTS: dict[str, Any] = {
    "toolbox": {"type": "path", "default": DEFAULT_PATH},
    "wheels": {"type": "list", "elements": "path"},
}

# What is imported, and the distribution that has it.
DISTRIBUTIONS = {"pynvml": "nvidia-ml-py", "psutil": "psutil"}


class Module(Protocol):
    """The part of AnsibleModule that is needed here."""

    params: Mapping[str, Any]
    tmpdir: str

    def fail_json(self, msg: str, **kwargs: Any) -> Any: ...


def require(module: Module, *imports: str) -> None:
    """Returns when all of `imports` can be imported; otherwise the module is run again elsewhere, or fails."""
    if module.params["wheels"]:
        _unpack(module.params["wheels"], module.tmpdir)
    missing = [name for name in imports if importlib.util.find_spec(name) is None]
    if not missing:
        return
    toolbox = module.params["toolbox"]
    if not has_respawned() and _holds(toolbox, imports):
        respawn_module(os.path.join(toolbox, "bin", "python"))
    module.fail_json(
        msg=_sentence(missing, toolbox),
        missing_libraries={
            "distributions": [DISTRIBUTIONS[name] for name in missing],
            "python_version": platform.python_version(),
            "implementation": platform.python_implementation(),
            "machine": platform.machine(),
            "libc": "-".join(platform.libc_ver()),
        },
    )


def _unpack(wheels: Sequence[str], folder: str) -> None:
    """Wheels are unpacked, for a shared library cannot be loaded out of one. Ansible removes the folder after the run."""
    home = tempfile.mkdtemp(prefix="wheels-", dir=folder)
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(home)
    sys.path.insert(0, home)
    importlib.invalidate_caches()


def _holds(toolbox: str, imports: Sequence[str]) -> bool:
    places = [os.path.join(toolbox, "lib", "python3*", "site-packages", name) for name in imports]
    python = os.path.join(toolbox, "bin", "python")
    return os.access(python, os.X_OK) and all(
        glob.glob(f"{place}.py") or glob.glob(f"{place}/__init__.py") for place in places
    )


def _sentence(missing: Sequence[str], toolbox: str) -> str:
    names = " and ".join(DISTRIBUTIONS[name] for name in missing)
    noun = "library" if len(missing) == 1 else "libraries"
    state = "which does not have all of them" if os.path.isdir(toolbox) else "which does not exist"
    return (
        f"The Python {noun} {names} cannot be imported: looked for in {sys.executable} and in the toolbox {toolbox}, {state}. "
        "The role blackwell.inference.toolbox installs them there."
    )
