# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers cases with the engine's own functions: `probe.py SUBJECT`, run by the interpreter of one engine's environment.

Reads a JSON case a line, writes a JSON result a line: what the engine computes, or `{"refused": sentence}` where it would not start.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any

# Modules beside this one, each with a function `answer(case)`.
SUBJECTS = ("arguments", "auto_ratio", "device", "fraction", "host")


def main(arguments: list[str]) -> int:
    if arguments not in [[subject] for subject in SUBJECTS]:
        print(__doc__, file=sys.stderr)
        return 2
    # The engine writes to stdout while it is imported and while it works: results have a descriptor of their own.
    results = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    answer: Callable[[dict[str, Any]], dict[str, Any]] = importlib.import_module(arguments[0]).answer
    # The engine collects garbage before it looks at the free memory: what was imported need not be searched each time.
    gc.freeze()
    for line in sys.stdin:
        results.write(json.dumps(answer(json.loads(line))) + "\n")
        results.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
