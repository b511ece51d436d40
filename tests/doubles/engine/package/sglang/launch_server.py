# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m sglang.launch_server`, as of the version that this wheel names."""

from __future__ import annotations

import sys
import warnings

from sglang.double import dialect, flags, server
from sglang.version import __version__


def main() -> int:
    spoken = dialect.of(__version__)
    if spoken.entry_warning:
        warnings.warn(spoken.entry_warning, UserWarning, stacklevel=1)
    options, command = flags.parse(sys.argv[1:], spoken)
    return server.Server(options, command, spoken).run()


if __name__ == "__main__":
    sys.exit(main())
