# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The release from end to end on a machine that follows a script."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import ObservationError
from ansible_collections.blackwell.inference.plugins.module_utils.observe.kernel_log import KernelEntry, KernelLog
from ansible_collections.blackwell.inference.plugins.module_utils.release.advice import Visibility
from ansible_collections.blackwell.inference.plugins.module_utils.release.kernel_faults import (
    KernelEvidence,
    read_evidence,
)
from ansible_collections.blackwell.inference.plugins.module_utils.release.ownership import selection
from ansible_collections.blackwell.inference.plugins.module_utils.release.release import list_holders, release
from ansible_collections.blackwell.inference.plugins.module_utils.release.request import ReleaseRequest
from ansible_collections.blackwell.inference.plugins.module_utils.release.termination import Outcome

from .scripted import GIB, GROUP, MARK, MIB, SERVICE_UID, UNIT, ScriptedHost, gpu, holder, seen, segment, stranger

REQUEST = ReleaseRequest(unit=UNIT, uid=SERVICE_UID, environment=MARK)
FREE = seen([gpu()])
WANTS_RESET = {"recovery_action": "gpu_reset"}
LXC = Visibility(True, False, "lxc", True)
XID_79 = "NVRM: Xid (PCI:0000:00:00): 79, pid=1, name=python3, GPU has fallen off the bus."


def outcomes(report) -> dict[int, str | None]:
    return {told["pid"]: told["outcome"] for told in report.as_dict()["holders"]}


def hardware_fault() -> KernelEvidence:
    return read_evidence(KernelLog(True, "boot", (KernelEntry(1_700_000_000.0, XID_79),)), ["0000:00:00.0"])


def test_free_gpus_change_nothing_and_are_looked_at_as_often_as_was_asked():
    host = ScriptedHost(FREE)
    report = release(host, REQUEST)
    assert (report.succeeded, report.changes, host.ended, host.time) == (True, False, [], 2.0)
    assert report.as_dict()["state"] == "released"


def test_what_is_ours_is_ended_and_what_is_not_stays():
    ours, other = holder(10), stranger(20, devices={"nvidia1": ("descriptor",), "nvidia-uvm": ("descriptor",)})
    cards = [gpu(0, 40 * GIB, {10: 40 * GIB}), gpu(1, 2 * GIB, {20: 2 * GIB})]
    host = ScriptedHost(seen(cards, [ours, other]), seen([gpu(0), cards[1]], [other]))
    report = release(host, REQUEST)
    assert host.ended == [10]
    assert outcomes(report) == {10: "exited", 20: "not_ours"}
    assert (report.as_dict()["state"], report.changes, report.succeeded) == ("held", True, False)
    assert host.time == 0.0  # nothing that we wait for would end the other


def test_only_the_gpus_that_are_asked_about_count():
    other = stranger(20, devices={"nvidia1": ("descriptor",), "nvidia-uvm": ("descriptor",)})
    cards = [gpu(0), gpu(1, 2 * GIB, {20: 2 * GIB})]
    report = release(ScriptedHost(seen(cards, [other], asked=["0"])), REQUEST)
    assert (report.succeeded, outcomes(report)) == (True, {})


def test_memory_that_is_given_back_late_is_waited_for():
    ours = holder(10)
    full = seen([gpu(0, 40 * GIB, {10: 40 * GIB})], [ours])
    emptying = seen([gpu(0, 30 * GIB)])
    host = ScriptedHost(full, *[emptying] * 5, FREE)
    report = release(host, REQUEST)
    assert (report.succeeded, host.time) == (True, 7.0)


def test_memory_that_never_comes_back_is_told_at_the_deadline():
    leaked = seen([gpu(0, 30 * GIB)])
    host = ScriptedHost(leaked)
    report = release(host, REQUEST)
    assert (report.as_dict()["state"], host.time) == ("needs_reset", 180.0)
    assert not report.changes


def test_memory_that_only_the_host_can_explain():
    report = release(ScriptedHost(seen([gpu(0, 30 * GIB)], visibility=LXC)), REQUEST)
    told = report.as_dict()
    assert told["state"] == "held_by_unseen"
    assert told["next_step"] == (
        "On the Proxmox host run the module blackwell.inference.proxmox_gpu_guests, or set inference_proxmox_host."
    )


def test_what_comes_again_is_told_and_not_signalled():
    first, second = holder(10), holder(11)
    host = ScriptedHost(
        seen([gpu(0, 4 * GIB, {10: 4 * GIB})], [first]), seen([gpu(0, 4 * GIB, {11: 4 * GIB})], [second])
    )
    report = release(host, REQUEST)
    assert (host.ended, outcomes(report)) == ([10], {10: "exited", 11: "respawned"})
    assert (report.as_dict()["state"], report.selected) == ("held", (10,))


def test_what_kill_does_not_end_needs_a_reboot():
    stuck = holder(10, state="D")
    full = seen([gpu(0, 4 * GIB, {10: 4 * GIB})], [stuck])
    after = seen([gpu(0, 4 * GIB, {10: 4 * GIB})], [stuck], survivors=[10])
    host = ScriptedHost(full, after, becomes={10: Outcome("survived_kill", ("TERM", "KILL"), "uvm_release", "D")})
    told = release(host, REQUEST).as_dict()
    assert host.survivors == [10]
    assert told["state"] == "needs_reboot"
    survivor = told["holders"][0]
    assert (survivor["outcome"], survivor["signals"], survivor["wait_channel"], survivor["state"]) == (
        "survived_kill",
        ["TERM", "KILL"],
        "uvm_release",
        "D",
    )


def test_a_hardware_fault_ends_it_before_anything_is_touched():
    full = seen([gpu(0, 4 * GIB, {10: 4 * GIB})], [holder(10)], [segment("psm_1")])
    host = ScriptedHost(full, evidence=hardware_fault())
    report = release(host, REQUEST)
    assert (host.ended, host.removed, report.succeeded, report.changes) == ([], [], False, False)
    assert report.finding.why.startswith("The kernel log has a hardware fault: Xid 79")
    assert [obstacle.state for obstacle in report.obstacles] == ["hardware_fault"]


def test_free_gpus_with_a_hardware_fault_are_not_called_free():
    report = release(ScriptedHost(FREE, evidence=hardware_fault()), REQUEST)
    assert (report.as_dict()["state"], report.succeeded) == ("released", False)


def test_shared_memory_of_the_dead_is_removed_and_nobody_elses():
    kept = [segment("theirs", uid=1000), segment("used", referenced=True), segment("roots", uid=0)]
    host = ScriptedHost(seen([gpu()], segments=[segment("psm_1"), *kept]))
    report = release(host, REQUEST)
    assert host.removed == ["/dev/shm/psm_1"]
    assert report.as_dict()["leftovers"] == [{"path": "/dev/shm/psm_1", "size_bytes": 4096, "removed": True}]
    assert report.changes


@pytest.mark.parametrize(
    "request_",
    [
        ReleaseRequest(uid=SERVICE_UID, leftovers=False),
        ReleaseRequest(uid=0, environment=MARK),
        ReleaseRequest(unit=UNIT),
    ],
)
def test_shared_memory_stays_where_nobody_says_whose_it_is(request_):
    host = ScriptedHost(seen([gpu()], segments=[segment("psm_1"), segment("roots", uid=0)]))
    release(host, request_)
    assert host.removed == []


def test_a_list_touches_nothing_and_tells_what_would_be_done():
    host = ScriptedHost(seen([gpu(0, 4 * GIB, {10: 4 * GIB})], [holder(10)], [segment("psm_1")]))
    report = list_holders(host, REQUEST)
    assert (host.ended, host.removed) == ([], [])
    assert (report.selected, report.changes, outcomes(report)) == ((10,), True, {10: None})
    assert report.obstacles == ()


def test_the_running_unit_is_no_obstacle_to_its_own_restart():
    """Its processes hold all of the card, and NVML does not tell how much."""
    running = selection(UNIT, GROUP, 1_700_000_000.0, SERVICE_UID, MARK)
    rank = holder(10, control_group=GROUP, unit=UNIT)
    for processes in ({10: 80 * GIB}, {10: None}, {}):
        snapshot = seen([gpu(0, 80 * GIB, processes)], [rank], selected=running)
        report = list_holders(ScriptedHost(snapshot), REQUEST)
        assert (report.obstacles, report.as_dict()["holders"][0]["owner"], report.selected) == ((), "protected", ())
        assert report.as_dict()["state"] == "held"


@pytest.mark.parametrize(
    ("cards", "others", "states"),
    [
        ([gpu(0, 82 * GIB, {10: 80 * GIB, 20: 2 * GIB})], [stranger(20)], ["held"]),
        ([gpu(0, 90 * GIB, {10: 80 * GIB})], [], ["needs_reset"]),
        ([gpu(0, 80 * GIB, {10: 80 * GIB}, **WANTS_RESET)], [], ["needs_reset"]),
        ([gpu(0, 80 * GIB, {10: 80 * GIB}), gpu(1, state="lost", error="GPU 1 is lost.", refused=15)], [], ["needs_reboot"]),
        ([gpu(0, 80 * GIB, {10: 80 * GIB}, **WANTS_RESET), gpu(1, **WANTS_RESET), gpu(2, 2 * GIB, {20: 2 * GIB})],
         [stranger(20, devices={"nvidia2": ("descriptor",), "nvidia-uvm": ("descriptor",)})], ["needs_reset", "held"]),
    ],
    ids=["another's process", "memory of nobody beside it", "the driver wants a reset", "a lost card", "one of two alike, and another"],
)  # fmt: skip
def test_what_stopping_the_unit_would_not_cure_is_an_obstacle(cards, others, states):
    running = selection(UNIT, GROUP, 1_700_000_000.0, SERVICE_UID, MARK)
    rank = holder(10, control_group=GROUP, unit=UNIT)
    report = list_holders(ScriptedHost(seen(cards, [rank, *others], selected=running)), REQUEST)
    assert [obstacle.state for obstacle in report.obstacles] == states


def test_a_gpu_that_is_not_there_is_told():
    with pytest.raises(ObservationError, match=r"^There is no GPU '7': an index, a UUID or its beginning"):
        seen([gpu()], asked=["7"])


def test_a_report_tells_who_a_holder_is_and_no_secret():
    secret = {**MARK, "BLACKWELL_API_KEY": "s3cret"}
    rank = holder(10, environment=secret, namespace_pids=(10, 3), container=None, uid=4_000_000)
    told = list_holders(ScriptedHost(seen([gpu(0, GIB, {10: GIB})], [rank])), REQUEST).as_dict()["holders"][0]
    assert told == {
        "pid": 10,
        "namespace_pids": [10, 3],
        "name": "sglang::schedul",
        "executable": "/opt/sglang/bin/python3",
        "user": "4000000",
        "uid": 4_000_000,
        "start_ticks": 1010,
        "started": "2023-11-14T22:13:20Z",
        "state": "S",
        "live_threads": 1,
        "parent_pid": 1,
        "unit": None,
        "control_group": "/",
        "container": None,
        "devices": {"nvidia0": ["descriptor"], "nvidia-uvm": ["descriptor"]},
        "gpus": [0],
        "gpu_memory_bytes": {"0": GIB},
        "owner": "not_ours",
        "why": "Nothing shows that it is ours: uid 4000000, no unit, /opt/sglang/bin/python3. "
        "Ask its owner to end it, or name the executable or the unit in allow.",
        "blocks": True,
        "outcome": None,
        "signals": [],
        "wait_channel": None,
    }


def test_one_that_stays_does_not_end_the_wait_for_another_that_empties():
    stuck = holder(10, state="D")
    cards = [gpu(0, 4 * GIB, {10: 4 * GIB}), gpu(1, 4 * GIB)]
    emptied = seen([cards[0], gpu(1)], [stuck], survivors=[10])
    host = ScriptedHost(
        seen(cards, [stuck]),
        *[seen(cards, [stuck], survivors=[10])] * 3,
        emptied,
        becomes={10: Outcome("survived_kill", ("TERM", "KILL"))},
    )
    states = [told["state"] for told in release(host, REQUEST).as_dict()["gpus"]]
    assert (states, host.time) == (["needs_reboot", "released"], 3.0)


def test_whom_nvml_lists_a_little_longer_than_he_lives_is_waited_for():
    full = seen([gpu(0, 40 * GIB, {10: 40 * GIB})], [holder(10)])
    gone = seen([gpu(0, 40 * GIB, {10: 40 * GIB})])
    host = ScriptedHost(full, *[gone] * 3, FREE)
    report = release(host, REQUEST)
    assert (report.succeeded, host.ended, host.time) == (True, [10], 5.0)


def test_whom_nvml_lists_for_ever_is_told_at_the_deadline():
    host = ScriptedHost(seen([gpu(0, 40 * GIB, {10: 40 * GIB})]))
    told = release(host, REQUEST).as_dict()
    assert (told["state"], host.time) == ("held", 180.0)
    assert told["why"] == (
        "NVML lists process 10 on GPU 0, which cannot be found: just started or just ended, or the driver lost track of it."
    )


def test_names_of_files_that_are_no_text_are_told_and_removed_all_the_same():
    name = os.fsdecode(b"psm_\xff")
    host = ScriptedHost(seen([gpu()], segments=[segment(name)]))
    told = release(host, REQUEST).as_dict()["leftovers"]
    assert (host.removed, [item["path"] for item in told]) == ([f"/dev/shm/{name}"], [r"/dev/shm/psm_\xff"])


@pytest.mark.parametrize(("used", "state"), [(500 * MIB, "released"), (90 * GIB, "held")])
def test_a_program_that_is_called_like_a_daemon_of_the_driver_hides_no_memory(used, state):
    daemon = stranger(20, executable="/home/alice/dcgm-exporter")
    told = release(ScriptedHost(seen([gpu(0, used, {20: used})], [daemon])), REQUEST).as_dict()
    assert (told["state"], told["holders"][0]["outcome"]) == (state, "protected")


OPEN, MAPPED = ("descriptor",), ("descriptor", "mapping")


@pytest.mark.parametrize(
    ("card", "launcher", "state"),
    [
        pytest.param(gpu(0), {}, "released", id="open and no more"),
        pytest.param(gpu(0, 9 * GIB), {}, "held", id="somebody uses it"),
        pytest.param(gpu(0), {"devices": {"nvidia0": MAPPED, "nvidia-uvm": OPEN}}, "held", id="mapped"),
        pytest.param(gpu(0), {"state": "Z"}, "held", id="its leader has exited"),
        pytest.param(replace(gpu(0), processes=None), {}, "held", id="NVML keeps no list"),
    ],
)
def test_the_launcher_of_an_engine_on_other_gpus(card, launcher, state):
    """It has no context, and all GPUs open; its rank has one, and all GPUs open too."""
    devices = {"nvidia0": OPEN, "nvidia1": OPEN, "nvidia-uvm": OPEN}
    rank = stranger(21, devices={**devices, "nvidia1": MAPPED})
    snapshot = seen(
        [card, gpu(1, 80 * GIB, {21: 80 * GIB})], [stranger(20, **{"devices": devices, **launcher}), rank], asked=["0"]
    )
    told = list_holders(ScriptedHost(snapshot), REQUEST).as_dict()
    assert told["state"] == state
    blocks = {holder["pid"]: holder["blocks"] for holder in told["holders"]}
    assert blocks == {20: state == "held" and bool(launcher or card.processes is None), 21: False}
