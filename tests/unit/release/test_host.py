# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a look takes for ours while systemd goes its own way."""

from __future__ import annotations

import os
import time

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.holders.scan import Holders
from ansible_collections.blackwell.inference.plugins.module_utils.observe.nvml.usage import UseReading
from ansible_collections.blackwell.inference.plugins.module_utils.release import host as hosts
from ansible_collections.blackwell.inference.plugins.module_utils.release.host import LocalHost
from ansible_collections.blackwell.inference.plugins.module_utils.release.request import ReleaseRequest

from .scripted import GIB, GROUP, MARK, SERVICE_UID, UNIT, gpu, holder

DEAD = {"ActiveState": "inactive", "ControlGroup": "", "MainPID": "0", "ControlPID": "0"}
WAITS = {**DEAD, "ActiveState": "activating", "ControlGroup": GROUP}
RUNS = {**WAITS, "MainPID": str(os.getpid())}
PREPARES = {**WAITS, "ControlPID": str(os.getpid())}
STOPS = {**PREPARES, "ActiveState": "deactivating"}


@pytest.mark.parametrize(
    ("before", "after", "owner"),
    [
        pytest.param(DEAD, DEAD, "ours", id="it is dead"),
        pytest.param(WAITS, WAITS, "ours", id="systemd waits before it starts it again"),
        pytest.param(DEAD, RUNS, "protected", id="it was started during the look"),
        pytest.param(WAITS, PREPARES, "protected", id="what comes before its main process was started during the look"),
        pytest.param(STOPS, STOPS, "protected", id="systemd stops it"),
    ],
)
def test_whoever_systemd_started_during_the_look_is_not_left_over(monkeypatch, before, after, owner):
    told = [before]

    def show(_command):
        return 0, "\n".join(f"{name}={value}" for name, value in told[0].items()), ""

    def scan(*_arguments, **_options):
        told[0] = after
        return Holders((holder(10, control_group=GROUP, started=time.time()),), (), 1, 1)

    monkeypatch.setattr(hosts, "read_use", lambda *_: UseReading(gpus=(gpu(0, GIB, {10: GIB}),)))
    monkeypatch.setattr(hosts, "read_holders", scan)
    request = ReleaseRequest(unit=UNIT, uid=SERVICE_UID, environment=MARK)
    (held,) = LocalHost(request, show, "none").snapshot().held.values()
    assert held.judgement.owner == owner
