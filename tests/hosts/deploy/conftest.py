# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The deployed instance, as tests ask about it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from testinfra.host import Host

from ansible_collections.blackwell.inference.tests.hosts.deploy import instance
from ansible_collections.blackwell.inference.tests.hosts.unit import Unit


@pytest.fixture(scope="session")
def unit(host: Host) -> Unit:
    return Unit(host, instance.UNIT, instance.secrets(host))


@pytest.fixture(scope="session")
def verdict(host: Host) -> Any:
    """What the play wrote when it verified the server."""
    return json.loads(host.file(f"{instance.RECORDS}/verdict.json").content_string)
