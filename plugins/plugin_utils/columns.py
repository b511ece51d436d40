# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How wide the text is that stands between the lines of a play. Private to the collection, may change any time."""

from __future__ import annotations

import textwrap

COLUMNS = 100


def wrapped(sentence: str) -> list[str]:
    """The lines of a sentence; those after the first are indented."""
    return textwrap.wrap(sentence, COLUMNS, subsequent_indent="  ")
