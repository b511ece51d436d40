# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs that something holds when the engine is to start: what is ours is ended, and on what is not nothing is started."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.tests.doubles.holders.build import build
from ansible_collections.blackwell.inference.tests.integration.loop.machine import UNIT, Machine
from ansible_collections.blackwell.inference.tests.testhost import cgroup

pytestmark = pytest.mark.testhost

MEMORY = "/run/fake-nvml/0"
MINE = ["env", "BLACKWELL_INSTANCE=kimi", "setpriv", "--reuid=sglang", "--regid=sglang", "--clear-groups", "--"]
THEIRS = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"]
Hold = Callable[..., int]


@pytest.fixture
def hold(kimi: Machine) -> Iterator[Hold]:
    """Starts a process outside of the unit that holds GPU 0, with memory of it, as a rank of an engine does; gives its pid on the host."""
    root = Path(f"/proc/{cgroup.leader(kimi.host.cgroup)}/root")
    shutil.copy(build(), root / "opt/holder")
    kimi.run("install", "--directory", "--mode=1777", MEMORY)

    def start(as_whom: list[str], gib: int = 2) -> int:
        opened = [word for node in ("nvidia0", "nvidiactl", "nvidia-uvm") for word in ("--open", f"/dev/{node}")]
        command = [*as_whom, "/opt/holder", *opened, "--memory", f"0:{gib << 30}"]
        said = "/run/holder-pid"
        kimi.run("sh", "-c", f'rm -f {said}; setsid "$@" >{said} 2>&1 </dev/null &', "sh", *command)
        for _attempt in range(100):
            text = kimi.run("cat", said).strip()
            if text.isdigit():
                return int(text)
            time.sleep(0.1)
        raise AssertionError(f"The holder said {text!r}")

    yield start
    kimi.run("sh", "-c", f"pkill -KILL -x holder; rm -rf /opt/holder {MEMORY}; true")


def lives(machine: Machine, pid: int) -> bool:
    return machine.host.execute("test", "-d", f"/proc/{pid}", check=False).returncode == 0


def invocation(machine: Machine) -> str:
    return machine.show(UNIT, "InvocationID")["InvocationID"]


def test_a_server_goes_on_where_its_gpus_would_not_be_free_after_the_stop(deployed, hold):
    before = invocation(deployed)
    pid = hold(THEIRS)
    played = deployed.play("deploy.yml", inference_serving={"mem_fraction_static": 0.85})
    message = played.failure["msg"]
    assert "is held by" in message
    assert f"process {pid} (holder)" in message
    assert "uid 65534, " in message
    assert (invocation(deployed), played.recap["changed"]) == (before, 0)
    assert lives(deployed, pid)


def test_the_release_playbook_tells_and_ends(deployed, hold):
    instance = {"inference_instance": "kimi", "inference_profile": None}
    running = deployed.play("release-gpus.yml", **instance)
    assert f"`systemctl stop {UNIT}` ends it" in running.failure["msg"]

    deployed.spoil(f"systemctl stop {UNIT}")
    pid = hold(MINE)
    checked = deployed.play("release-gpus.yml", "--check", **instance).expect(changed=1)
    assert "It runs as uid" in checked.text
    assert lives(deployed, pid)
    deployed.play("release-gpus.yml", **instance).expect(changed=1)
    assert not lives(deployed, pid)
    again = deployed.play("release-gpus.yml", **instance).expect(changed=0)
    assert "The GPUs are free." in again.text


def test_systemd_starts_nothing_on_gpus_that_another_holds(kimi, hold):
    """As at boot, or after a crash: no play looks then."""
    kimi.spoil(f"systemctl stop {UNIT}")
    pid = hold(THEIRS)
    refused = kimi.host.execute("systemctl", "start", UNIT, check=False)
    journal = kimi.run("journalctl", f"--unit={UNIT}", "--output=cat", "--lines=30", "--no-pager")
    kimi.run("systemctl", "stop", UNIT)
    assert refused.returncode != 0
    assert "The GPUs are not free: " in journal
    assert f"process {pid} (holder). Nothing shows that it is ours: uid 65534, " in journal


def test_what_an_accident_left_is_ended_before_the_plan(kimi, hold):
    """It holds all of a card: on what is free beside it no plan could be made."""
    kimi.spoil(f"systemctl stop {UNIT}")
    pid = hold(MINE, 90)
    checked = kimi.play("deploy.yml", "--check")
    assert f"Processes {pid} are left of an earlier start and would be ended first." in checked.text
    assert "The poorest card has" in checked.failure["msg"] or "GPU" in checked.failure["msg"]
    assert lives(kimi, pid)
    played = kimi.play("deploy.yml").expect()
    assert "Call | GPUs released" in played.changed_tasks
    assert not lives(kimi, pid)
    assert kimi.show(UNIT, "ActiveState")["ActiveState"] == "active"


def test_without_a_name_nobody_is_taken_for_ours(kimi):
    refused = kimi.play("release-gpus.yml", inference_profile=None)
    assert refused.failure["msg"] == (
        "No instance was named, so no process is known to be ours. Set inference_instance, for example to kimi, "
        "or inference_profile to the profile that it was deployed from."
    )


def test_a_mistyped_variable_is_told_also_without_a_profile(kimi):
    refused = kimi.play(
        "release-gpus.yml", inference_profile=None, inference_instance="kimi", inference_gpu_alow=[UNIT]
    )
    assert refused.failure["msg"].startswith("There is no variable inference_gpu_alow. ")
