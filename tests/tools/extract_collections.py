# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Take named collections out of the wheel of the `ansible` package: WHEEL DESTINATION NAME..."""

from __future__ import annotations

import sys
import zipfile


def extract(wheel: str, destination: str, names: list[str]) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in names:
            folder = f"ansible_collections/{name.replace('.', '/')}/"
            members = [member for member in archive.namelist() if member.startswith(folder)]
            if not members:
                sys.exit(f"{wheel} has no collection {name}: correct tests/tools/collections.txt.")
            archive.extractall(destination, members)


if __name__ == "__main__":
    extract(sys.argv[1], sys.argv[2], sys.argv[3:])
