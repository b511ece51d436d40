# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the unit gives its processes that nothing else would miss at once."""

from __future__ import annotations

import re
from pathlib import Path

TEMPLATE = Path(__file__).parents[3] / "roles/sglang_service/templates/sglang.service.j2"


def test_the_mark_stays_readable_in_ranks_that_name_themselves():
    """setproctitle 1.3.8 was seen to clear all of /proc/PID/environ, and to leave it alone where SPT_NOENV is set."""
    variables = dict(re.findall(r"^Environment=(\w+)=(.*)$", TEMPLATE.read_text(encoding="utf-8"), re.MULTILINE))
    assert "BLACKWELL_INSTANCE" in variables
    assert variables.get("SPT_NOENV") == "1"
