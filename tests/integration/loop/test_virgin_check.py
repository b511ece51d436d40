# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A check on a host that no play has touched: it shows the plan, ends green, and leaves the host as it was."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.testhost


def test_a_check_of_a_virgin_host_shows_the_plan_and_touches_nothing(untouched):
    before = untouched.tree()
    run = untouched.play("deploy.yml", "--check", "--diff").expect()
    assert "159,2" in run.text
    assert "+++ after: /var/lib/blackwell-inference/kimi/plan.txt" in run.text
    assert "+mem-fraction-static: 0.88" in run.text
    assert untouched.tree() == before
    assert untouched.run("sh", "-c", "ls -A /root/.ansible/tmp 2>/dev/null || true") == ""
