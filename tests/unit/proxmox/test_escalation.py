# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ladder on a host that is data: every rung, every end, and nothing done without consent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import ReleaseError
from ansible_collections.blackwell.inference.plugins.module_utils.observe.files import Unread
from ansible_collections.blackwell.inference.plugins.module_utils.observe.identity import Identity
from ansible_collections.blackwell.inference.plugins.module_utils.proxmox.commands import Ran
from ansible_collections.blackwell.inference.plugins.module_utils.proxmox.escalation import REBOOT, foresee, release
from ansible_collections.blackwell.inference.plugins.module_utils.proxmox.inventory import (
    Guest,
    HostInventory,
    attribute,
)
from ansible_collections.blackwell.inference.plugins.module_utils.proxmox.state import (
    CONSENTS,
    GuestGpuState,
    ProxmoxRequest,
    guest_of,
    wanted,
)
from ansible_collections.blackwell.inference.plugins.module_utils.proxmox.steps import POWER
from ansible_collections.blackwell.inference.plugins.module_utils.release.termination import Outcome
from ansible_collections.blackwell.inference.tests.unit.proxmox.holders_of_guests import GPUS, holder

GPU0, GPU1, GPU2 = (gpu.address for gpu in GPUS)
OK = Ran(0, "", "")
CONTAINER = Guest(101, "lxc", "inference", True, given=(GPU0,))
QEMU = Identity(5000, 1, "/qemu.slice/201.scope", 0, "/usr/bin/qemu-system-x86_64")
VM = Guest(201, "qemu", "vm", True, given=(GPU2,), qemu=QEMU)
RANK = holder("/lxc/101/ns/system.slice/sglang.service", "nvidia0", "nvidia-uvm")
KVM = replace(holder("/qemu.slice/201.scope", "vfio/20", pid=5000, name="kvm"), identity=QEMU)
LEAK = f"70000 MiB of GPU {GPU0} are in use, and no process of this host has it open."


def state(guest=CONTAINER, *processes, faults=None, others=(), unread=()):
    guests = (guest, *others)
    held = attribute(processes, GPUS, guests, {})
    return GuestGpuState(HostInventory(GPUS, guests, held, unread), guest, guest.given, faults or {})


@dataclass
class FakeDoor:
    """`after`: what each thing that is done makes of the situation; what is not there changes nothing."""

    now_is: GuestGpuState
    after: dict[str, Callable[[GuestGpuState], GuestGpuState]] = field(default_factory=dict)
    answers: dict[str, Ran] = field(default_factory=dict)
    outcomes: str = "exited"
    line: str | None = None
    way: tuple[str, ...] | None = ("nvidia-smi", "--gpu-reset", "-i", GPU0)
    did: list[str] = field(default_factory=list)
    clock: float = 0.0

    def look(self):
        return self.now_is

    def now(self):
        return self.clock

    def sleep(self, seconds):
        self.clock += seconds

    def run(self, command, seconds):
        return self._do(" ".join(command))

    def end(self, identities, grace_seconds, deadline):
        assert deadline > self.clock
        self._do("end " + " ".join(str(identity.pid) for identity in identities))
        return {
            identity.pid: Outcome(self.outcomes, ("TERM",) if self.outcomes != "vanished" else ())
            for identity in identities
        }

    def kill_group(self, control_group):
        self._do(f"kill {control_group}")
        return True

    def reset_command(self, address):
        return self.way

    def gave_up(self):
        return self.line

    def _do(self, what):
        self.did.append(what)
        for begin, change in self.after.items():
            if what.startswith(begin):
                self.now_is = change(self.now_is)
        return self.answers.get(what, OK)


def without_holders(now):
    return replace(now, host=replace(now.host, holders=()))


def stopped(now):
    return replace(without_holders(now), guest=replace(now.guest, running=False, qemu=None))


def leaking(change):
    return lambda now: replace(change(now), faults={GPU0: LEAK})


def healed(now):
    return replace(now, faults={})


def request(consent, guest=CONTAINER, **more):
    return ProxmoxRequest(guest.vmid, guest.given, consent, **more)


def steps(done):
    return [(step.rung, step.outcome) for step in done.rungs]


@pytest.mark.parametrize("consent", CONSENTS)
@pytest.mark.parametrize(("guest", "process"), [(CONTAINER, RANK), (VM, KVM)], ids=["container", "vm"])
def test_no_rung_without_its_consent(consent, guest, process):
    """Nothing helps, so each climbs as far as it may."""
    host = FakeDoor(state(guest, process), outcomes="survived_kill")
    done = release(host, request(consent, guest))
    allowed = CONSENTS.index(consent)
    ended, stop = ("end", "pct stop") if guest is CONTAINER else ("-", "qm")
    assert any(what.startswith(ended) for what in host.did) == (guest is CONTAINER and allowed >= 1)
    assert any(what.startswith(stop) for what in host.did) == (allowed >= 2)
    assert not any("reset" in what or "reboot" in what for what in host.did)  # a process has it open
    assert done.state == ("needs_consent" if allowed < 2 else "needs_reboot")
    assert (
        done.consent_needed
        == {0: "processes" if guest is CONTAINER else "guest_stop", 1: "guest_stop", 2: "reboot", 3: "reboot", 4: None}[
            allowed
        ]
    )


def test_released_at_the_first_rung_that_is_enough():
    host = FakeDoor(state(CONTAINER, RANK), {"end": without_holders})
    done = release(host, request("reboot"))
    assert (done.state, done.restarted, host.did) == ("released", None, ["end 4711"])
    assert [step.what for step in done.rungs] == ["4711 (rank) of guest 101 exited after TERM."]


def test_what_is_left_of_the_unit_is_killed_by_its_group():
    host = FakeDoor(state(CONTAINER, RANK), {"kill": without_holders})
    release(host, request("processes", unit="sglang.service"))
    assert host.did == ["end 4711", "kill /lxc/101/ns/system.slice/sglang.service"]


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("vanished", "had ended before any signal"),
        ("changed_identity", "was another process by then and was left alone after TERM"),
        ("survived_kill", "did not end after TERM"),
    ],
)
def test_how_a_process_ended_is_told(outcome, words):
    done = release(FakeDoor(state(CONTAINER, RANK), outcomes=outcome), request("processes"))
    assert done.rungs[0].what == f"4711 (rank) of guest 101 {words}."
    assert done.why == f"Process 4711 (rank) of guest 101 holds GPU {GPU0}."
    assert (
        done.next_step
        == f"Set consent to guest_stop: stops container 101, and starts it again once GPU {GPU0} can be had."
    )


def test_a_guest_that_was_stopped_is_started_again_only_on_free_gpus():
    free = FakeDoor(state(CONTAINER, RANK), {"pct stop": stopped})
    done = release(free, request("guest_stop", user=7))
    assert (done.state, done.restarted, free.did) == ("released", True, ["pct stop 101", "pct start 101"])
    leak = FakeDoor(state(CONTAINER, RANK), {"pct stop": leaking(stopped)})
    done = release(leak, request("guest_stop", user=7))
    assert (done.state, done.restarted, leak.did) == ("needs_reset", False, ["pct stop 101"])
    assert done.why == f"{LEAK} Container 101 stays stopped."


def test_one_that_did_not_run_before_is_not_started():
    guest = replace(CONTAINER, running=False)
    host = FakeDoor(state(guest, faults={GPU0: LEAK}), {"nvidia-smi": healed})
    assert (release(host, request("reset", guest)).restarted, host.did) == (
        None,
        ["nvidia-smi --gpu-reset -i 0000:01:00.0"],
    )


def test_high_availability_is_asked_in_its_way_and_waited_for():
    guest = replace(VM, managed=True)
    host = FakeDoor(
        state(guest, KVM), {"qm stop": stopped}, {"qm shutdown 201 --timeout 210": Ran(255, "", "got timeout")}
    )
    assert release(host, request("guest_stop", guest)).state == "released"
    assert host.did == ["qm shutdown 201 --timeout 210", "qm stop 201", "qm start 201"]


def test_qemu_itself_is_ended_last():
    host = FakeDoor(state(VM, KVM), {"end": stopped}, {"qm shutdown 201 --timeout 210": Ran(None, "", "")})
    done = release(host, request("guest_stop", VM))
    assert host.did == [
        "qm shutdown 201 --timeout 210",
        "qm stop 201 --overrule-shutdown 1",
        "end 5000",
        "qm start 201",
    ]
    assert (
        done.rungs[1].what == "`qm stop 201` stopped it. Its QEMU process 5000 was still there and exited after TERM."
    )


def test_a_stop_that_was_refused_ends_the_climb():
    locked = Ran(255, "", "VM is locked (backup)\n")
    host = FakeDoor(
        state(VM, KVM),
        answers={"qm shutdown 201 --timeout 210": locked, "qm stop 201 --overrule-shutdown 1": locked},
    )
    done = release(host, request("reboot", VM))
    assert (done.state, steps(done)[-1]) == ("held", ("guest_stop", "failed"))
    assert "end 5000" not in host.did


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, "nvidia-smi --gpu-reset -i 0000:01:00.0"),
        ({"processes": [holder("/system.slice/x.service", "nvidia0", executable="/usr/bin/nvidia-persistenced")]},
         "nvidia-smi --gpu-reset -i 0000:01:00.0"),
        ({"unread": (Unread("processes", "1 is hidden"),)}, "nvidia-smi --gpu-reset -i 0000:01:00.0"),
        ({"processes": [holder("/system.slice/x.service", "nvidia0", name="watch")]},
         f"GPU {GPU0} cannot be reset: open in process 4711 (watch). End that first."),
        ({"others": (replace(CONTAINER, vmid=102),)}, f"GPU {GPU0} cannot be reset: also given to container 102. Stop container 102 first."),
        ({"others": (replace(CONTAINER, vmid=102, running=False),)}, "nvidia-smi --gpu-reset -i 0000:01:00.0"),
        ({"unread": (Unread("process 9 (cuda)", "did not answer"),)},
         f"GPU {GPU0} cannot be reset: whether it is open in process 9 (cuda) could not be seen. See what that waits for, or reboot the host."),
        ({"unread": (Unread("process 9 (cuda)", "did not answer"), Unread("other processes", "the program that looks at them said nothing"))},
         f"GPU {GPU0} cannot be reset: whether it is open in process 9 (cuda) and other processes could not be seen. "
         "See what that waits for, or reboot the host."),
    ],
)  # fmt: skip
def test_a_reset_needs_a_gpu_that_nobody_has_open(change, expected):
    processes = change.pop("processes", [])
    host = FakeDoor(state(CONTAINER, *processes, faults={GPU0: LEAK}, **change), {"nvidia-smi": healed})
    done = release(host, request("reboot"))
    assert (host.did[0] if host.did else f"{done.why} {done.next_step}") == expected
    assert done.state == ("released" if host.did else "needs_reset")


@pytest.mark.parametrize(("consent", "resets"), [("reset", False), ("reboot", True)])
def test_running_guests_with_other_gpus_raise_the_consent(consent, resets):
    host = FakeDoor(state(faults={GPU0: LEAK}, others=(VM,)), {"nvidia-smi": healed})
    done = release(host, request(consent))
    assert bool(host.did) == resets
    assert done.consent_needed == (None if resets else "reboot")
    if not resets:
        assert done.next_step == (
            f"Set consent to reboot: resets GPU {GPU0}. VM 201 has GPUs of this host too, and a reset that fails can take the host with it."
        )


def test_a_card_that_does_not_come_back_is_left_alone():
    line = "vfio-pci 0000:01:00.0: not ready 65535ms after FLR; giving up"
    host = FakeDoor(state(faults={GPU0: LEAK}), line=line)
    done = release(host, request("reboot"))
    assert (done.state, done.next_step, steps(done)[-1]) == ("needs_reboot", POWER, ("reset", "failed"))
    assert done.why == f'GPU {GPU0} did not come back from its reset: the kernel says "{line}".'


def test_a_card_without_a_way_to_reset_it_takes_a_reboot():
    done = release(FakeDoor(state(faults={GPU0: LEAK}), way=None), request("reset"))
    assert (done.state, done.next_step) == ("needs_reboot", REBOOT)
    assert done.rungs[2].what == f"The kernel knows no way to reset GPU {GPU0}."


def test_time_is_given_to_memory_and_no_longer_than_the_deadline():
    host = FakeDoor(state(CONTAINER, RANK), {"end": leaking(without_holders)})
    assert release(host, request("processes", deadline_seconds=20)).state == "needs_reset"
    assert 20 <= host.clock <= 21


def test_what_others_hold_is_held():
    other = holder("/system.slice/ollama.service", "nvidia0", "nvidia-uvm", name="ollama")
    host = FakeDoor(state(CONTAINER, other))
    done = release(host, request("reboot"))
    assert (done.state, done.rungs, host.did) == ("held", (), [])
    assert done.why == f"Process 4711 (ollama) holds GPU {GPU0}; that is not of container 101, and was not touched."


@pytest.mark.parametrize("consent", CONSENTS)
def test_what_is_foreseen_is_what_would_be_climbed(consent):
    """At worst: nothing helps but that the guest's processes end with it."""
    seen = state(CONTAINER, RANK)
    foreseen = foresee(seen, request(consent))
    host = FakeDoor(seen, {"pct stop": leaking(stopped)}, outcomes="survived_kill")
    climbed = release(host, request(consent))
    tried = [step for step, outcome in steps(climbed) if outcome in ("released", "not_enough", "failed")]
    assert [step for step, outcome in steps(foreseen) if outcome == "would_try"] == tried
    assert foreseen.acted == climbed.acted == (consent != "none")


def test_nothing_to_do():
    done = foresee(state(), request("reboot"))
    assert (done.state, done.rungs, done.acted, done.why) == ("released", (), False, None)
    assert done.as_dict() == {
        "state": "released",
        "rungs": [],
        "why": None,
        "next_step": None,
        "consent_needed": None,
        "restarted": None,
    }


@pytest.mark.parametrize(
    ("guest", "more", "sentence"),
    [
        (VM, {"unit": "a.service"}, "unit and user choose among the processes inside a container; guest 201 is a VM, "
         "whose processes the host cannot see. Leave them out."),
        (CONTAINER, {"unit": "system.slice"}, "unit 'system.slice' was given; the name of a systemd service inside the container is expected, "
         "such as sglang-kimi.service."),
        (CONTAINER, {"grace_seconds": -1.0}, "grace_seconds -1 and deadline_seconds 300 were given; a grace of 0 or more and a deadline above 0 "
         "are expected."),
    ],
)  # fmt: skip
def test_requests_that_make_no_sense(guest, more, sentence):
    with pytest.raises(ReleaseError) as refusal:
        request("none", guest, **more).require_sense(guest)
    assert str(refusal.value) == sentence


def test_guests_and_gpus_that_are_not_there():
    host = state(others=(VM,)).host
    assert wanted(host, CONTAINER, []) == wanted(host, CONTAINER, ["01:00"]) == (GPU0,)
    with pytest.raises(ReleaseError) as strange:
        wanted(host, CONTAINER, ["0000:03:00.0", "gpu7"])
    assert str(strange.value) == (
        f"gpus names {GPU2} and gpu7, which container 101 does not have. It has GPU {GPU0}: name some of these, or leave gpus out for all."
    )
    with pytest.raises(ReleaseError) as unknown:
        guest_of(HostInventory((), (), ()), 7)
    assert str(unknown.value) == (
        "This host has no guest 7; it has no guests. Where the guest was migrated, delegate this task to the host that it is on now."
    )
