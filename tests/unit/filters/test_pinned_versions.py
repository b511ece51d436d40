# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Locks are read for their versions, and refused when they pin none."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.blackwell.inference.plugins.filter.pinned_versions import pinned_versions

LOCK = """# written by a tool
--only-binary=:all:
nvidia-ml-py==13.615.71 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
    # via -r requirements.in
uvicorn[standard]==0.30.0 --hash=sha256:cc
torch==2.13.0+cpu --hash=sha256:dd
tomli==2.0.0 ; python_version < "3.11" \\
    --hash=sha256:ee
"""


def test_versions_by_name():
    assert pinned_versions(LOCK) == {"nvidia-ml-py": "13.615.71", "uvicorn": "0.30.0", "torch": "2.13.0+cpu"}


@pytest.mark.parametrize("line", ["torch>=2.0", "torch", "./torch.whl"])
def test_a_requirement_without_a_pin_is_refused(line):
    with pytest.raises(AnsibleFilterError, match="pins no version"):
        pinned_versions(line)
