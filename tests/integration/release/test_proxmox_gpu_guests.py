# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""proxmox_gpu_guests as Ansible runs it, on what looks like a Proxmox VE host, with guests that are real processes. Each release has a bystander."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.blackwell.inference.tests.doubles.pve.host import PveHost
from ansible_collections.blackwell.inference.tests.doubles.pve.pve import alive
from ansible_collections.blackwell.inference.tests.integration.module_process import run_module
from ansible_collections.blackwell.inference.tests.signals.tracer import signals_traced

GPU0, GPU1, GPU2, GPU3 = PveHost.addresses
CUDA = ["nvidia0", "nvidiactl", "nvidia-uvm"]
CONTAINER = ["hostname: inference", "dev0: /dev/nvidia0,mode=0666", "dev1: /dev/nvidia-uvm,mode=0666"]
SECOND = ["hostname: other", "dev0: /dev/nvidia1,mode=0666", "dev1: /dev/nvidia-uvm,mode=0666"]
VM = ["name: inference-vm", "hostpci0: 0000:03:00,pcie=1"]


@pytest.fixture
def pve(tmp_path: Path) -> Iterator[PveHost]:
    host = PveHost(tmp_path)
    yield host
    host.close()


def run(pve: PveHost, check: bool = False, **arguments: Any) -> dict[str, Any]:
    return run_module("proxmox_gpu_guests", arguments, pve.environment, check, pve.entrance)


def release(pve: PveHost, guest: str, consent: str, check: bool = False, **more: Any) -> dict[str, Any]:
    quick = {"grace_seconds": 0.5, "deadline_seconds": 3, **more}
    return run(pve, check, state="released", guest=int(guest), consent=consent, **quick)


def rungs(result: dict[str, Any]) -> list[tuple[str, str]]:
    return [(step["rung"], step["outcome"]) for step in result["guests"]["release"]["rungs"]]


def other_guests(pve: PveHost) -> list[int]:
    """A container and a VM that have GPUs and must come to no harm."""
    container = pve.container(
        SECOND, [{"name": "bystander", "unit": "sglang.service", "nodes": ["nvidia1", "nvidia-uvm"]}]
    )
    vm = pve.vm(["hostpci0: 04:00.0"], ["vfio/21"])
    return [pve.processes(container)["bystander"], pve.pid(vm)]


def test_who_has_what(pve):
    container = pve.container(
        CONTAINER,
        [
            {"name": "sglang::schedul", "unit": "sglang-kimi.service", "nodes": CUDA, "uid": 999},
            {"name": "watcher", "nodes": ["nvidia0", "nvidiactl"]},
            {"name": "idle", "nodes": []},
        ],
    )
    vm = pve.vm(VM, ["vfio/20"])
    stopped = pve.new_id()
    pve.settle(
        "qemu", stopped, "name: stopped", "hostpci0: mapping=pool,pcie=1", "", "[snapshot]", "hostpci1: 0000:01:00"
    )
    node = Path("/proc/sys/kernel/hostname").read_text().strip().partition(".")[0]
    (pve.root / "etc/pve/mapping/pci.cfg").write_text(
        f"pci: pool\n\tmap id=10de:2bb5,iommugroup=21,node={node},path={GPU3}\n"
    )
    result = run(pve)
    assert (result["changed"], result["guests"]["release"]) == (False, None)
    pids = pve.processes(container)
    gpus = {gpu["pci_address"]: gpu for gpu in result["guests"]["gpus"]}
    assert gpus[GPU0] == {
        "pci_address": GPU0,
        "device_id": "10de:2bb5",
        "driver": "nvidia",
        "iommu_group": 18,
        "device": "nvidia0",
        "guests": [int(container)],
        "holders": sorted([pids["sglang::schedul"], pids["watcher"]]),
    }
    assert [gpus[address]["guests"] for address in (GPU1, GPU2, GPU3)] == [[], [int(vm)], [int(stopped)]]
    assert gpus[GPU2]["holders"] == [pve.pid(vm)]
    guests = {str(guest["vmid"]): guest for guest in result["guests"]["guests"]}
    assert {vmid: (one["kind"], one["name"], one["running"]) for vmid, one in guests.items()} == {
        container: ("lxc", "inference", True),
        vm: ("qemu", "inference-vm", True),
        stopped: ("qemu", "stopped", False),
    }
    holder = next(held for held in guests[container]["holders"] if held["name"] == "sglang::schedul")
    assert {key: holder[key] for key in ("pid", "guest_pid", "uid", "guest_uid", "unit", "devices")} == {
        "pid": pids["sglang::schedul"],
        "guest_pid": 2,
        "uid": 999,
        "guest_uid": 999,
        "unit": "sglang-kimi.service",
        "devices": {name: ["descriptor"] for name in CUDA},
    }


def test_without_consent_nothing_is_touched(pve):
    container = pve.container(CONTAINER, [{"name": "rank", "nodes": CUDA}])
    pid = pve.processes(container)["rank"]
    result = release(pve, container, "none")
    held = f"Process {pid} (rank) of guest {container} holds GPU {GPU0}."
    assert result["msg"] == f"{held} Set consent to processes: ends process {pid} (rank) of guest {container}."
    assert (result["failed"], result["changed"]) == (True, False)
    assert rungs(result) == [("processes", "not_consented")]
    assert result["guests"]["release"]["consent_needed"] == "processes"
    assert alive(pid)
    assert pve.calls == []


def test_exactly_the_processes_of_the_unit_end(pve):
    container = pve.container(
        CONTAINER,
        [
            {"name": "rank0", "unit": "sglang-kimi.service", "nodes": CUDA},
            {"name": "rank1", "unit": "sglang-kimi.service", "nodes": CUDA, "ignores_term": True},
            {"name": "helper", "unit": "sglang-kimi.service", "nodes": []},
            {"name": "neighbour", "unit": "other.service", "nodes": ["nvidia0"]},
        ],
    )
    bystanders = other_guests(pve)
    pids = pve.processes(container)
    with signals_traced() as trace:
        result = release(pve, container, "processes", unit="sglang-kimi.service", gpus=["01:00.0"])
    assert (result.get("msg"), result["changed"]) == (None, True)
    assert [step["what"] for step in result["guests"]["release"]["rungs"]] == [
        f"{pids['rank0']} (rank0) of guest {container} exited after TERM, {pids['rank1']} (rank1) of guest {container} exited after TERM and KILL "
        "and what was left of sglang-kimi.service was killed."
    ]
    assert [name for name, pid in pids.items() if not alive(pid)] == ["rank0", "rank1", "helper"]
    assert [alive(pid) for pid in bystanders] == [True, True]
    assert sorted(
        (sent.name, sent.target_pid)
        for sent in trace.sent()
        if sent.target_pid in {*pids.values(), *bystanders} and sent.name != "CHLD"
    ) == sorted([("TERM", pids["rank0"]), ("TERM", pids["rank1"]), ("KILL", pids["rank1"]), ("KILL", pids["helper"])])
    assert pve.calls == []
    again = release(pve, container, "processes")
    assert (again["changed"], rungs(again)) == (False, [])


def test_another_user_inside_is_left_alone_and_named(pve):
    container = pve.container(
        CONTAINER, [{"name": "mine", "nodes": CUDA, "uid": 999}, {"name": "other", "nodes": CUDA, "uid": 998}]
    )
    pids = pve.processes(container)
    result = release(pve, container, "processes", user=999)
    assert rungs(result) == [("processes", "not_enough"), ("guest_stop", "not_consented")]
    assert result["msg"] == (
        f"Process {pids['other']} (other) of guest {container} holds GPU {GPU0}. "
        f"Set consent to guest_stop: stops container {container}, and starts it again once GPU {GPU0} can be had."
    )
    assert (alive(pids["mine"]), alive(pids["other"])) == (False, True)


def test_a_container_is_stopped_and_started_again(pve):
    container = pve.container(CONTAINER, [{"name": "other", "nodes": CUDA, "uid": 998}])
    bystanders = other_guests(pve)
    result = release(pve, container, "guest_stop", user=999)
    assert rungs(result) == [("processes", "not_applicable"), ("guest_stop", "released")]
    assert pve.calls == [f"pct stop {container}", f"pct start {container}"]
    assert result["guests"]["release"]["restarted"] is True
    assert [guest["running"] for guest in result["guests"]["guests"]] == [True, True, True]
    assert [alive(pid) for pid in bystanders] == [True, True]


@pytest.mark.parametrize(
    ("behaves", "calls", "what"),
    [
        ({}, ["shutdown {} --timeout 1"], "`qm shutdown {}` stopped it."),
        (
            {"obeys": False},
            ["shutdown {} --timeout 1", "stop {} --overrule-shutdown 1"],
            "`qm stop {}` stopped it.",
        ),
        (
            {"obeys": False, "quits": False, "ignores_term": True},
            ["shutdown {} --timeout 1", "stop {} --overrule-shutdown 1"],
            "`qm stop {}` stopped it. Its QEMU process {pid} was still there and exited after TERM and KILL.",
        ),
    ],
    ids=["shuts down", "is stopped", "is killed"],
)
def test_a_vm_is_stopped_as_hard_as_it_takes(pve, behaves, calls, what):
    vm = pve.vm(VM, ["vfio/20"], **behaves)
    bystanders = other_guests(pve)
    pid = pve.pid(vm)
    result = release(pve, vm, "guest_stop", deadline_seconds=91)
    steps = result["guests"]["release"]["rungs"]
    assert [step["what"] for step in steps] == [
        f"The host cannot see the processes of VM {vm}, only the VM as a whole.",
        what.format(vm, pid=pid),
    ]
    assert rungs(result) == [("processes", "not_applicable"), ("guest_stop", "released")]
    assert pve.calls == [f"qm {call.format(vm)}" for call in [*calls, "start {}"]]
    assert [alive(bystander) for bystander in bystanders] == [True, True]
    assert pve.pid(vm) not in (None, pid)


def test_a_stale_pid_file_makes_nobody_a_vm(pve):
    """The pid of a bystander stands in the file of a VM that is long gone."""
    bystander = other_guests(pve)[1]
    vm = pve.new_id()
    pve.settle("qemu", vm, *VM)
    (pve.root / f"run/qemu-server/{vm}.pid").write_text(f"{bystander}\n")
    result = release(pve, vm, "reboot")
    assert (result["changed"], result["guests"]["release"]["state"]) == (False, "released")
    assert alive(bystander)


@pytest.mark.parametrize("kind", ["lxc", "qemu"])
def test_a_locked_guest_is_not_stopped_by_force(pve, kind):
    if kind == "lxc":
        guest, words, command = (
            pve.container(CONTAINER, [{"name": "rank", "nodes": CUDA, "uid": 1}]),
            "Container",
            "pct stop",
        )
        pve.settle(kind, guest, *CONTAINER, "lock: backup")
    else:
        guest, words, command = pve.vm(VM, ["vfio/20"]), "VM", "qm stop"
        pve.settle(kind, guest, *VM, "lock: backup")
    result = release(pve, guest, "reboot", **({"user": 2} if kind == "lxc" else {}))
    says = "CT is locked (backup)" if kind == "lxc" else "VM is locked (backup)"
    assert result["msg"] == (
        f'{words} {guest} could not be stopped: `{command} {guest}` ended with 255 and said "{says}". Remove that cause, and run this again.'
    )
    assert result["guests"]["release"]["state"] == "held"
    assert rungs(result)[1:] == [("guest_stop", "failed")]


def test_what_no_signal_and_no_stop_ends_takes_a_reboot(pve):
    """The process is not of the user asked for, and its container does not stop."""
    container = pve.container(CONTAINER, [{"name": "rank", "nodes": CUDA}], stuck=True)
    pid = pve.processes(container)["rank"]
    result = release(pve, container, "reset", user=7)
    assert rungs(result) == [
        ("processes", "not_applicable"),
        ("guest_stop", "not_enough"),
        ("reset", "not_applicable"),
        ("reboot", "not_consented"),
    ]
    assert result["guests"]["release"]["state"] == "needs_reboot"
    assert result["msg"] == (
        f"Process {pid} (rank) of guest {container} holds GPU {GPU0}. "
        "Reboot the host once its guests may stop: systemctl reboot. Where the fault comes back, power it off for half a minute."
    )
    consented = release(pve, container, "reboot", user=7)
    assert (consented.get("failed", False), rungs(consented)[-1]) == (False, ("reboot", "left_to_play"))
    assert alive(pid)


def test_memory_that_nobody_holds_is_reset_away(pve):
    container = pve.container(CONTAINER)
    pve.show_memory({GPU0: [81234, 97887], GPU1: [500, 97887]})
    leaked = f"81234 MiB of GPU {GPU0} are in use, and no process of this host has it open."
    refused = release(pve, container, "guest_stop")
    assert refused["msg"] == f"{leaked} Set consent to reset: resets GPU {GPU0}."
    assert rungs(refused)[2:] == [("reset", "not_consented")]
    assert refused["guests"]["release"]["state"] == "needs_reset"
    result = release(pve, container, "reset")
    assert rungs(result)[2:] == [("reset", "released")]
    assert pve.calls == [f"nvidia-smi --gpu-reset -i {GPU0}"]


def test_a_reset_puts_other_guests_at_stake(pve):
    container = pve.container(CONTAINER)
    bystanders = other_guests(pve)
    others = [vmid for kind in ("lxc", "qemu") for vmid in pve.ids(kind) if vmid != container]
    pve.show_memory({GPU0: [81234, 97887], GPU1: [500, 97887]}, refuses=True)
    result = release(pve, container, "reset")
    assert result["guests"]["release"]["consent_needed"] == "reboot"
    assert result["msg"] == (
        f"81234 MiB of GPU {GPU0} are in use, and no process of this host has it open. Set consent to reboot: resets GPU {GPU0}. "
        f"Container {others[0]} and VM {others[1]} have GPUs of this host too, and a reset that fails can take the host with it."
    )
    assert pve.calls == []
    told = release(pve, container, "reboot", deadline_seconds=1)
    assert rungs(told)[2:] == [("reset", "failed"), ("reboot", "left_to_play")]
    assert told["guests"]["release"]["rungs"][2]["what"] == (
        f'The reset of GPU {GPU0} ended with 255 and said "GPU 0000{GPU0}: In use by another client".'
    )
    assert [alive(pid) for pid in bystanders] == [True, True]


def test_a_silent_card_of_a_vm_is_reset_by_the_kernel_and_not_removed(pve):
    vm = pve.new_id()
    pve.settle("qemu", vm, *VM)
    home = pve.root / "sys/bus/pci/devices" / GPU2
    (home / "config").write_bytes(b"\xff" * 64)
    result = release(pve, vm, "reset", deadline_seconds=1)
    assert rungs(result)[2:] == [("reset", "not_enough"), ("reboot", "not_consented")]
    assert result["guests"]["release"]["rungs"][2]["what"] == f"GPU {GPU2} was reset."
    assert result["guests"]["release"]["why"] == f"GPU {GPU2} does not answer on the PCI bus."
    assert [(home / name).read_text().strip() for name in ("reset", "reset_method")] == ["1", "flr bus"]


def test_what_belongs_to_another_guest_stays_held(pve):
    """Two containers were given the same GPU; only one of them is asked about."""
    container = pve.container(CONTAINER, [{"name": "rank", "nodes": CUDA}])
    other = pve.container(CONTAINER, [{"name": "rank", "nodes": CUDA}])
    pid = pve.processes(other)["rank"]
    result = release(pve, container, "reboot")
    assert rungs(result) == [("processes", "not_enough")]
    assert result["msg"] == (
        f"Process {pid} (rank) of guest {other} holds GPU {GPU0}; that is not of container {container}, and was not touched. "
        "End that where it belongs, or name other GPUs in gpus."
    )
    assert alive(pid)


def test_a_process_that_only_talks_to_the_driver_holds_no_gpu(pve):
    container = pve.container(CONTAINER, [{"name": "talks", "unit": "sglang.service", "nodes": ["nvidiactl"]}])
    bystanders = other_guests(pve)
    result = release(pve, container, "reboot", unit="sglang.service")
    assert (result["changed"], result["guests"]["release"]["state"]) == (False, "released")
    assert alive(pve.processes(container)["talks"])
    assert [alive(pid) for pid in bystanders] == [True, True]


def test_check_mode_tells_the_rungs_and_touches_nothing(pve):
    container = pve.container(CONTAINER, [{"name": "rank", "nodes": CUDA}])
    pid = pve.processes(container)["rank"]
    result = release(pve, container, "reset", check=True)
    assert (result["changed"], result.get("failed", False)) == (True, False)
    assert [(step["outcome"], step["what"]) for step in result["guests"]["release"]["rungs"]] == [
        ("would_try", f"Ends process {pid} (rank) of guest {container}."),
        (
            "would_try",
            f"If that is not enough: stops container {container}, and starts it again once GPU {GPU0} can be had.",
        ),
        ("would_try", f"If that is not enough: resets GPU {GPU0}."),
        (
            "not_consented",
            "The host has to be rebooted, which stops all its guests; this is left to the play (ansible.builtin.reboot).",
        ),
    ]
    assert alive(pid)
    assert pve.calls == []


def test_a_guest_that_does_not_start_again_is_told(pve):
    container = pve.container(CONTAINER, [{"name": "rank", "nodes": CUDA}], fails_to_start_again=True)
    result = release(pve, container, "guest_stop", user=7)
    assert result["msg"] == (
        f"The GPUs are released. Container {container} stays stopped. `pct start {container}` ended with 255 and said "
        f"\"startup for container '{container}' failed\". Remove that cause and start it by hand."
    )
    assert result["guests"]["release"]["restarted"] is False


def test_questions_that_make_no_sense_are_answered_with_a_sentence(pve):
    container = pve.container(CONTAINER)
    vm = pve.vm(VM, ["vfio/20"])
    plain = pve.container(["hostname: plain"])
    ids = ", ".join(sorted((container, vm, plain), key=int))
    asked = [
        ({"state": "released"}, "state released was asked for without guest: only what belongs to one given guest is released. "
         "Give its VMID; state listed shows which guests have which GPU."),
        ({"state": "released", "guest": 7}, f"This host has no guest 7; its guests are {ids}. "
         "Where the guest was migrated, delegate this task to the host that it is on now."),
        ({"state": "released", "guest": int(vm), "unit": "x.service"}, f"unit and user choose among the processes inside a container; guest {vm} is a VM, "
         "whose processes the host cannot see. Leave them out."),
        ({"state": "released", "guest": int(container), "gpus": ["03:00.0"]}, f"gpus names {GPU2}, which container {container} does not have. "
         f"It has GPU {GPU0}: name some of these, or leave gpus out for all."),
    ]  # fmt: skip
    assert [run(pve, **arguments)["msg"] for arguments, _sentence in asked] == [
        sentence for _arguments, sentence in asked
    ]
    nothing = release(pve, plain, "reboot")
    assert (nothing["changed"], nothing["guests"]["release"]["state"]) == (False, "released")


def test_no_proxmox_host():
    assert run_module("proxmox_gpu_guests", {}, {"PATH": "/usr/bin:/bin"})["msg"] == (
        "This is not a Proxmox VE host: no pct and no qm is on PATH. "
        "Guests and their GPUs can only be seen on the host itself: delegate this task to it."
    )
