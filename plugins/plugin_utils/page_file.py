# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page that an operator asked for, as a file on the controller. Private to the collection, may change any time."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


class PageError(Exception):
    """Why the page cannot be written, as a sentence."""


def write_page(path: str, html: str) -> Path:
    """In one step, so that a browser never loads half of it; everybody may read it."""
    target = Path(path).expanduser().absolute()
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
        try:
            with open(handle, "w", encoding="utf-8") as file:
                file.write(html)
            os.chmod(name, 0o644)
            os.replace(name, target)
        except OSError:
            os.unlink(name)
            raise
    except OSError as error:
        raise PageError(
            f"The page could not be written to {target}: {error.strerror}. A file in a folder of the controller that exists and "
            "is writable was expected in inference_report."
        ) from error
    return target
