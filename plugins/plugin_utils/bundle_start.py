# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a bundled program starts: this file is its beginning. Private to the collection, may change any time.

It lays the program's sources down in a folder that only its user can enter, runs `main` of one of them, and removes the folder however that ends
(KILL excepted). They have to be files because parts of a program start other parts as processes of their own, which find them by sys.path.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


class Stopped(BaseException):
    """A signal ends the program; its own `except Exception` must not stand in the way."""


def run(module: str, sources: Mapping[str, str]) -> None:
    """Runs `main()` of a module with this process's arguments and ends as it does. `sources`: text by path below the folder that goes on sys.path."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # until whatever they interrupt removes the folder
    try:
        with tempfile.TemporaryDirectory(prefix="blackwell-inference-") as folder:
            _lay_down(sources, Path(folder))
            _call_main(module, folder, mask)
    except OSError as error:
        sys.exit(
            f"{sys.argv[0]} lays its parts down in a temporary folder for as long as it runs, and that failed: {error}. "
            "Make room there, or name another folder in the environment variable TMPDIR."
        )
    except Stopped as stopped:
        (number,) = stopped.args
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)  # whoever waits sees what ended us
        sys.exit(128 + number)


def _lay_down(sources: Mapping[str, str], folder: Path) -> None:
    for name, text in sources.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in sorted(folder.rglob("*")):
        if path.is_dir():
            # A regular package comes before one without this file wherever that stands on sys.path, and Ansible installs one of this name.
            (path / "__init__.py").touch()


def _call_main(module: str, folder: str, mask: set[int | signal.Signals]) -> None:
    sys.path.insert(0, folder)
    # A child that we killed but that still writes bytecode would be in the way when the folder is removed.
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    try:
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _stop)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        sys.exit(importlib.import_module(module).main())
    except Exception:
        traceback.print_exc()  # here, where the files are that it quotes
        sys.exit(1)
    finally:
        _stop_listening()


def _stop(number: int, frame: Any) -> None:
    _stop_listening()
    raise Stopped(number)


def _stop_listening() -> None:
    """A second signal must not interrupt the removal of the folder."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
