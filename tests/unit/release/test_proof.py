# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a GPU counts as free, and what is said of one that is not: every state, every sentence."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.nvml.usage import GpuUse, UseReading
from ansible_collections.blackwell.inference.plugins.module_utils.release.advice import Visibility
from ansible_collections.blackwell.inference.plugins.module_utils.release.gpu_status import (
    STATES,
    GpuStatus,
    worst_status,
)
from ansible_collections.blackwell.inference.plugins.module_utils.release.occupancy import Occupancy
from ansible_collections.blackwell.inference.plugins.module_utils.release.proof import idle_limit, prove_free

MIB, GIB = 2**20, 2**30
TOTAL = 97887 * MIB  # RTX PRO 6000
IDLE = 600 * MIB  # so that 1 % of the card, 979 MiB, is the limit

METAL = Visibility(True, True, "bare_metal", False)
VM = Visibility(True, True, "kvm", True)
DOCKER = Visibility(True, False, "docker", False)
LXC = Visibility(True, False, "lxc", True)
USER = replace(METAL, root=False)

RESET = (
    "Run `nvidia-smi --gpu-reset -i 0` as root, once nothing has the GPU open, nvidia-persistenced and DCGM included; "
    "on a machine with NVSwitches without `-i 0`."
)
RESET_IN_VM = (
    "Run `nvidia-smi --gpu-reset -i 0` as root, once nothing has the GPU open, nvidia-persistenced and DCGM included; "
    "a guest (kvm) may be refused that: then stop it and start it again on its host."
)
RESET_BEHIND_DOCKER = (
    "A container may not reset a GPU: on its host run `nvidia-smi --gpu-reset -i GPU-a`, "
    "once nothing has the GPU open, nvidia-persistenced and DCGM included."
)
RESET_BEHIND_LXC = "A container may not reset a GPU: on the Proxmox host run the module blackwell.inference.proxmox_gpu_guests with consent reset."
REBOOT = "Reboot this machine; where that does not help, switch its power off for half a minute."
REBOOT_OF_VM = "Stop this guest (kvm) and start it again on its host; where that does not help, reboot the host."
WHEN_IT_ANSWERS = (
    "Until NVML answers nothing is known of the GPUs: once what the reason names is put right, look again."
)
REBOOT_OF_HOST = "Reboot the host of this container."
ASK_PROXMOX = (
    "On the Proxmox host run the module blackwell.inference.proxmox_gpu_guests, or set inference_proxmox_host."
)
ASK_HOST = "On the host of this container run the module blackwell.inference.gpu_release, which sees the processes of all containers."
UNSEEN = "belong to no process that can be seen in this container: only its host can tell whose they are."
FULL = "GPU 0 has 40.0 GiB in use, where an idle one has at most 979 MiB"


def gpu(used: int | None = 0, index: int = 0, **more: object) -> GpuUse:
    facts = {
        "uuid": "GPU-a",
        "memory_total_bytes": TOTAL,
        "memory_reserved_bytes": 635 * MIB,
        "processes": {},
        "recovery_action": "none",
    }
    return GpuUse(index, memory_used_bytes=used, **{**facts, **more})


def occupancy(pid: int = 7, name: str = "python3", **more: object) -> Occupancy:
    return Occupancy(**{"pid": pid, "name": name, "gpus": frozenset({0}), "blocks": True, **more})


def judged(
    use: GpuUse,
    occupancies: list[Occupancy] | None = None,
    visibility: Visibility = METAL,
    left_out: int = 0,
    **more: object,
):
    return prove_free(UseReading(gpus=(use,)), [use.index], occupancies or [], visibility, IDLE, left_out, **more)


def verdict(*arguments: object, **more: object) -> tuple[str, str | None, str | None]:
    proof = judged(*arguments, **more)
    return proof.state, proof.why, proof.next_step


WATCHING = occupancy(5, "nvidia-smi", blocks=False)
PERSISTENCE = occupancy(1, "nvidia-persiste", blocks=False, tolerated=True)
ALLOWED = occupancy(4, "ollama", blocks=False, tolerated=True, memory={0: 2 * GIB})
DISPLAY = occupancy(9, "Xorg", blocks=False, memory={0: 2 * GIB}, why="Stop the display manager.")


@pytest.mark.parametrize(
    ("use", "occupancies"),
    [
        (gpu(0), []),
        (gpu(978 * MIB), []),
        (gpu(2 * MIB), [PERSISTENCE, WATCHING]),
        (gpu(2 * GIB + 5 * MIB, processes={4: 2 * GIB}), [ALLOWED]),
        (gpu(300 * MIB, processes={9: 300 * MIB}), [replace(DISPLAY, memory={0: 300 * MIB})]),
        (gpu(300 * MIB, processes={4: None}), [replace(ALLOWED, memory={0: None})]),
        (gpu(0, recovery_action=None), []),
        (gpu(0, processes=None), []),
        (gpu(0), [occupancy(gpus=frozenset({1}), memory={1: 40 * GIB})]),
        (gpu(1900 * MIB, memory_reserved_bytes=None), []),
    ],
    ids=[
        "empty", "under the limit", "watched only", "memory of one that is allowed", "small display", "allowed, memory not told",
        "recovery action not told", "no list of processes", "held is another", "driver's part not told apart",
    ],
)  # fmt: skip
@pytest.mark.parametrize("visibility", [METAL, VM, DOCKER, LXC, USER], ids=["metal", "vm", "docker", "lxc", "user"])
def test_free(use, occupancies, visibility):
    assert verdict(use, occupancies, visibility) == ("released", None, None)


@pytest.mark.parametrize(
    ("use", "occupancies", "why", "next_step"),
    [
        (
            gpu(40 * GIB, processes={7: 40 * GIB}),
            [occupancy(memory={0: 40 * GIB}, why="It belongs to alice.service: `systemctl stop alice.service` ends it.")],
            "GPU 0 has 40.0 GiB in use and is held by process 7 (python3).",
            "It belongs to alice.service: `systemctl stop alice.service` ends it.",
        ),
        (
            gpu(3 * MIB),
            [occupancy()],
            "GPU 0 has 3 MiB in use and is held by process 7 (python3).",
            "End process 7 (python3), or name the executable in allow if it may keep the GPU open.",
        ),
        (
            gpu(3 * MIB),
            [occupancy(pid, "a", why="Ask bob.") for pid in (7, 8)],
            "GPU 0 has 3 MiB in use and is held by process 7 (a) and process 8 (a).",
            "Process 7: Ask bob.",
        ),
        (
            gpu(3 * MIB),
            [occupancy(pid, "a") for pid in range(1, 9)],
            "GPU 0 has 3 MiB in use and is held by process 1 (a), process 2 (a), process 3 (a) and 5 more.",
            "End process 1 (a), process 2 (a), process 3 (a) and 5 more, or name the executable in allow if it may keep the GPU open.",
        ),
        (
            gpu(3 * MIB, memory_reserved_bytes=None),
            [occupancy(why="Ask bob.")],
            "GPU 0 has 3 MiB in use (with what the driver keeps for itself) and is held by process 7 (python3).",
            "Ask bob.",
        ),
        (gpu(None), [occupancy(why="Ask bob.")], "GPU 0 is held by process 7 (python3).", "Ask bob."),
        (
            gpu(2 * GIB, processes={9: 2 * GIB}),
            [DISPLAY, PERSISTENCE],
            "GPU 0 has 2.0 GiB in use, where an idle one has at most 979 MiB: the memory of process 9 (Xorg).",
            "Stop the display manager.",
        ),
        (
            gpu(40 * GIB, processes={9: None}),
            [replace(DISPLAY, memory={0: None})],
            f"{FULL}: the memory of process 9 (Xorg).",
            "Stop the display manager.",
        ),
        (
            gpu(40 * GIB, processes={66: 40 * GIB}),
            [],
            "NVML lists process 66 on GPU 0, which cannot be found: just started or just ended, or the driver lost track of it.",
            f"Look again. If what is listed stays so and does not run: {RESET}",
        ),
        (
            gpu(40 * GIB, processes={66: None}),
            [],
            "NVML lists process 66 on GPU 0, which cannot be found: just started or just ended, or the driver lost track of it.",
            f"Look again. If what is listed stays so and does not run: {RESET}",
        ),
    ],
    ids=[
        "by one that has a reason", "by one without memory", "by two", "by eight", "driver's part not told apart", "memory not told",
        "by a display's memory", "by a display whose memory is not told", "by one that is only listed", "by one that is only listed, memory not told",
    ],
)  # fmt: skip
def test_held(use, occupancies, why, next_step):
    assert verdict(use, occupancies) == ("held", why, next_step)


def test_a_listed_process_that_another_user_may_not_see_is_held():
    assert verdict(gpu(0, processes={66: 5}), visibility=USER) == (
        "held", "NVML lists process 66 on GPU 0, which this user cannot look into.", "Run as root."
    )  # fmt: skip


@pytest.mark.parametrize(
    ("visibility", "next_step"), [(LXC, ASK_PROXMOX), (DOCKER, ASK_HOST), (replace(LXC, proxmox=None), ASK_HOST)]
)
@pytest.mark.parametrize(
    ("use", "occupancies", "why"),
    [
        (gpu(40 * GIB), [PERSISTENCE], f"{FULL}; 40.0 GiB {UNSEEN}"),
        (gpu(40 * GIB, processes=None), [], f"{FULL}; 40.0 GiB {UNSEEN}"),
        (
            gpu(40 * GIB, processes={4: 2 * GIB, 9: 2 * GIB}),
            [ALLOWED, DISPLAY],
            f"{FULL}; 36.0 GiB {UNSEEN}",
        ),
        (gpu(40 * GIB, processes={66: 40 * GIB, 67: 1}), [], "NVML lists process 66 and process 67 on GPU 0, none of this container's."),
    ],
)  # fmt: skip
def test_held_by_what_only_the_host_sees(use, occupancies, why, visibility, next_step):
    assert verdict(use, occupancies, visibility) == ("held_by_unseen", why, next_step)


@pytest.mark.parametrize(("visibility", "next_step"), [(METAL, RESET), (VM, RESET_IN_VM)])
def test_memory_of_nobody_where_all_can_be_seen_is_leaked(visibility, next_step):
    assert verdict(gpu(40 * GIB), [WATCHING], visibility) == (
        "needs_reset", f"{FULL}; 40.0 GiB belong to no process: they were leaked.", next_step
    )  # fmt: skip


@pytest.mark.parametrize(
    ("use", "occupancies", "visibility", "left_out", "why", "next_step"),
    [
        (gpu(40 * GIB), [], USER, 0, f"{FULL}; 40.0 GiB belong to no process that this user can see.", "Run as root."),
        (gpu(40 * GIB), [], replace(LXC, root=False), 0, f"{FULL}; 40.0 GiB belong to no process that this user can see.", "Run as root."),
        (
            gpu(40 * GIB), [], METAL, 2,
            f"{FULL}; 40.0 GiB belong to no process that could be seen, and 2 could not be looked into.",
            "Look in unread for the processes that were left out: one of them may hold the GPU.",
        ),
        (
            gpu(40 * GIB, processes={4: None}), [replace(ALLOWED, memory={0: None})], METAL, 0,
            f"{FULL}, and NVML does not tell how much of it is that of process 4 (ollama).",
            "End process 4 (ollama), or raise idle_memory_bytes by what it needs.",
        ),
        (
            gpu(40 * GIB, processes=None), [PERSISTENCE], METAL, 0,
            f"{FULL}, and NVML does not tell how much of it is that of process 1 (nvidia-persiste).",
            "End process 1 (nvidia-persiste), or raise idle_memory_bytes by what it needs.",
        ),
        (gpu(None), [], METAL, 0, "GPU 0 does not tell how much of its memory is used.", "Look in unread for what NVML refused."),
        (
            gpu(None, state="error", error="GPU 0 could not be read: NVML answered with error 999.", refused=999), [], METAL, 0,
            "GPU 0 could not be read: NVML answered with error 999.",
            "Look for NVRM or Xid in the kernel log; nothing is known of GPU 0 until it answers.",
        ),
    ],
)  # fmt: skip
def test_unproven(use, occupancies, visibility, left_out, why, next_step):
    assert verdict(use, occupancies, visibility, left_out) == ("unproven", why, next_step)


LOST = gpu(None, state="lost", error="GPU 0 is lost.", refused=15)
WANTS_RESET = gpu(None, state="lost", error="GPU 0 wants a reset.", refused=16)
HUNG = gpu(None, state="timeout", error="GPU 0 told nothing.")


@pytest.mark.parametrize(
    ("use", "visibility", "state", "why", "next_step"),
    [
        (LOST, METAL, "needs_reboot", "GPU 0 is lost.", REBOOT),
        (LOST, VM, "needs_reboot", "GPU 0 is lost.", REBOOT_OF_VM),
        (LOST, LXC, "needs_reboot", "GPU 0 is lost.", REBOOT_OF_HOST),
        (HUNG, METAL, "needs_reboot", "GPU 0 told nothing.", REBOOT),
        (WANTS_RESET, METAL, "needs_reset", "GPU 0 wants a reset.", RESET),
        (WANTS_RESET, VM, "needs_reset", "GPU 0 wants a reset.", RESET_IN_VM),
        (WANTS_RESET, DOCKER, "needs_reset", "GPU 0 wants a reset.", RESET_BEHIND_DOCKER),
        (WANTS_RESET, LXC, "needs_reset", "GPU 0 wants a reset.", RESET_BEHIND_LXC),
    ],
)
def test_a_gpu_that_does_not_answer(use, visibility, state, why, next_step):
    assert verdict(use, [], visibility) == (state, why, next_step)


@pytest.mark.parametrize(
    ("action", "state", "next_step"),
    [
        ("gpu_reset", "needs_reset", RESET),
        ("drain_and_reset", "needs_reset", RESET),
        ("bus_reset", "needs_reset", RESET),
        ("drain_p2p", "needs_reset", RESET),
        (
            "recover_imex",
            "needs_reset",
            "Restart nvidia-imex on all machines of the GPU's IMEX domain, then look again.",
        ),
        ("8", "needs_reset", RESET),
        ("node_reboot", "needs_reboot", REBOOT),
        ("system_reboot", "needs_reboot", REBOOT),
    ],
)
def test_what_the_driver_wants_done_although_all_memory_is_free(action, state, next_step):
    assert verdict(gpu(recovery_action=action)) == (
        state,
        f"The driver wants the recovery action {action} for GPU 0.",
        next_step,
    )


@pytest.mark.parametrize(
    ("visibility", "next_step"), [(METAL, "Reboot this machine."), (VM, "Reboot this machine."), (LXC, REBOOT_OF_HOST)]
)
def test_a_process_that_kill_does_not_end(visibility, next_step):
    use = gpu(40 * GIB, processes={7: 40 * GIB})
    assert verdict(use, [occupancy(memory={0: 40 * GIB}, survived_kill=True)], visibility) == (
        "needs_reboot", "GPU 0 is held by process 7 (python3), which SIGKILL did not end: stuck in the kernel.", next_step
    )  # fmt: skip


@pytest.mark.parametrize(
    ("reading", "visibility", "state", "next_step"),
    [
        (UseReading("It is hung.", driver_hung=True), METAL, "needs_reboot", REBOOT),
        (UseReading("It is hung.", driver_hung=True), LXC, "needs_reboot", REBOOT_OF_HOST),
        (UseReading("They differ.", refused=18), METAL, "unproven", "Reload the NVIDIA kernel module, or reboot this machine, then look again."),
        (UseReading("They differ.", refused=18), LXC, "unproven", "Install the host's driver version in this container, then look again."),
        (UseReading("No module.", refused=9), METAL, "unproven", WHEN_IT_ANSWERS),
        (UseReading("No card.", absent=True), LXC, "unproven", "Run this on the machine that has the cards."),
    ],
)  # fmt: skip
def test_nvml_that_does_not_answer_at_all(reading, visibility, state, next_step):
    proof = prove_free(reading, [0], [occupancy()], visibility, IDLE)
    assert (proof.state, proof.why, proof.next_step, proof.gpus) == (state, reading.driver_error, next_step, ())


def test_the_worst_gpu_speaks_for_all_and_those_like_it_are_named():
    gpus = (gpu(index=0), gpu(40 * GIB, 1), gpu(index=2, recovery_action="gpu_reset"), gpu(index=3))
    proof = prove_free(UseReading(gpus=gpus), [0, 1, 2, 3], [occupancy(gpus=frozenset({3}))], METAL, IDLE)
    assert [each.state for each in proof.gpus] == ["released", "needs_reset", "needs_reset", "held"]
    assert proof.why == (
        "GPU 1 has 40.0 GiB in use, where an idle one has at most 979 MiB; 40.0 GiB belong to no process: they were leaked. In the same state: GPU 2."
    )
    assert proof.next_step == RESET.replace("-i 0", "-i 1")


@pytest.mark.parametrize(("better", "worse"), list(combinations(STATES, 2)))
def test_order_of_the_states(better, worse):
    first, second = GpuStatus(better), GpuStatus(worse)
    assert worst_status([first, second]) is worst_status([second, first]) is second


def test_states_of_the_contract_from_the_best_to_the_worst():
    assert STATES == ("released", "held", "held_by_unseen", "unproven", "needs_reset", "needs_reboot")


def test_gpus_that_were_not_asked_about_do_not_count():
    proof = prove_free(
        UseReading(gpus=(gpu(index=0), gpu(40 * GIB, 1))), [0], [occupancy(gpus=frozenset({1}))], METAL, IDLE
    )
    assert (proof.state, [each.use.index for each in proof.gpus]) == ("released", [0])


def test_a_gpu_that_disappears_is_no_free_gpu():
    proof = prove_free(UseReading(gpus=(gpu(index=0),)), [0, 1], [], METAL, IDLE)
    assert (proof.state, proof.why) == (
        "unproven",
        "GPU 1 is not shown by NVML any more, and the others may have other numbers now.",
    )


def test_no_gpu_is_no_proof():
    proof = prove_free(UseReading(gpus=(gpu(),)), [], [], METAL, IDLE)
    assert (proof.state, proof.why, proof.next_step) == (
        "unproven", "No GPU was looked at.", "Name at least one GPU in gpus, or none for all of them."
    )  # fmt: skip


@pytest.mark.parametrize(
    ("total", "reserved", "asked", "limit"),
    [
        (TOTAL, 1, IDLE, TOTAL // 100),
        (32 * GIB, 1, IDLE, IDLE),
        (32 * GIB, None, IDLE, IDLE + 32 * GIB // 100),
        (None, None, IDLE, IDLE),
    ],
)
def test_what_an_idle_gpu_may_show(total, reserved, asked, limit):
    assert idle_limit(gpu(memory_total_bytes=total, memory_reserved_bytes=reserved), asked) == limit


@pytest.mark.parametrize("over", [0, 1])
def test_the_limit_itself_is_free(over):
    assert judged(gpu(TOTAL // 100 + over)).state == ("needs_reset" if over else "released")


@pytest.mark.parametrize(
    ("processes", "seen", "unseen"),
    [({}, 0, 40 * GIB), ({7: 30 * GIB, 8: 4 * GIB}, 34 * GIB, 6 * GIB), ({7: 41 * GIB}, 41 * GIB, 0), ({7: 30 * GIB, 8: None}, 30 * GIB, None),
        (None, 0, None)],
)  # fmt: skip
def test_memory_seen_and_unseen(processes, seen, unseen):
    proof = judged(gpu(40 * GIB, processes=processes)).gpus[0]
    assert (proof.memory_seen_bytes, proof.memory_unseen_bytes) == (seen, unseen)


def test_a_gpu_in_the_result():
    proof = judged(gpu(5, minor=3, pci_address="0000:01:00.0"), [occupancy(why="Ask bob.")])
    assert proof.gpus[0].as_dict() == {
        "index": 0, "uuid": "GPU-a", "pci_address": "0000:01:00.0", "device": "nvidia3", "state": "held",
        "why": "GPU 0 has 0 MiB in use and is held by process 7 (python3).", "memory_used_bytes": 5, "memory_seen_bytes": 0,
        "memory_unseen_bytes": 5, "idle_memory_bytes": TOTAL // 100, "recovery_action": "none",
    }  # fmt: skip


def test_what_another_user_than_root_cannot_see_is_not_proven_free():
    assert verdict(gpu(), visibility=USER, left_out=1) == (
        "unproven",
        "Nothing that this user can see holds GPU 0, and the processes of other users could not be looked into.",
        "Run as root.",
    )
    assert verdict(gpu(), visibility=METAL, left_out=1) == ("released", None, None)


def test_a_search_that_ended_early_proves_nothing_free():
    why = "the program that looks at them failed with ValueError: no number at process 7"
    assert verdict(gpu(), left_out=1, broken_off=why) == (
        "unproven",
        f"Nothing that was seen holds GPU 0, but not all processes were looked at: {why}.",
        "Look again. If it ends so again, see what is wrong with the process that it names.",
    )
    assert verdict(gpu(), [occupancy()], left_out=1, broken_off=why)[0] == "held"
