# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page that an operator asked for, as a file on the controller. Private to the collection, may change any time."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.blackwell.inference.plugins.module_utils.verify.records import write_text


class PageError(Exception):
    """Why the page cannot be written, as a sentence."""


def write_page(path: str, html: str) -> Path:
    """In one step, so that a browser never loads half of it; everybody may read it."""
    target = Path(path).expanduser().absolute()
    try:
        write_text(target, html)
    except OSError as error:
        raise PageError(
            f"The page could not be written to {target}: {error.strerror}. A file in a folder of the controller that exists and "
            "is writable was expected in inference_report."
        ) from error
    return target
