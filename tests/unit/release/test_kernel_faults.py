# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines that kernels wrote when GPUs failed (tests/data/kernel), and what is made of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.kernel_log import (
    PATTERN,
    KernelEntry,
    KernelLog,
)
from ansible_collections.blackwell.inference.plugins.module_utils.release.kernel_faults import (
    KernelEvidence,
    read_evidence,
)

RECORDED = Path(__file__).parents[2] / "data/kernel"
TEN = 1796032800.0  # 2026-11-30 10:00:00 UTC

RESET = "Reset the GPU where its driver runs, with nothing open on it (nvidia-smi --gpu-reset -i ADDRESS), or reboot that host."
POWER_OFF = "Power the host off for about 30 s and start it again; on some cards a warm reboot keeps this state."


def log(*messages: str, every: float = 0.0) -> KernelLog:
    return KernelLog(
        True, "@1796032000", tuple(KernelEntry(TEN + number * every, one) for number, one in enumerate(messages))
    )


def recorded(name: str) -> list[str]:
    return [line for line in (RECORDED / f"{name}.txt").read_text().splitlines() if not line.startswith("# ")]


def evidence(name: str, addresses: list[str] | None = None) -> KernelEvidence:
    return read_evidence(log(*recorded(name)), addresses)


def what(found: KernelEvidence) -> list[object]:
    return [(xid.number, xid.pci_address, xid.kind) for xid in found.xids] + [
        (one.kind, one.pci_address) for one in found.faults
    ]


@pytest.mark.parametrize(
    ("name", "addresses", "expected"),
    [
        ("xid-79", None, [(79, "0000:01:00.0", "hardware")]),
        ("xid-79-without-process", None, [(79, "0000:2b:00.0", "hardware")]),
        ("xid-79", ["0000:01:00.0"], [(79, "0000:01:00.0", "hardware")]),
        ("xid-79", ["0000:2b:00.0"], []),
        ("xid-62-then-154", None, [(62, "0000:01:00.0", "hardware"), (154, "0000:01:00.0", "hardware")]),
        ("xid-119-then-154", None, [(119, "0000:0b:00.0", "hardware"), (154, "0000:0b:00.0", "hardware")]),
        (
            "xid-119-then-154",
            ["00000000:0B:00.0"],
            [(119, "0000:0b:00.0", "hardware"), (154, "0000:0b:00.0", "hardware")],
        ),
        ("xid-119-rtx-pro-6000", None, [(119, "0000:01:00.0", "hardware")]),
        ("xid-31-sglang", None, [(31, "0000:70:00.0", "application")]),
        ("xid-13-unknown-process", None, [(13, "0000:43:00.0", "application")]),
        ("xid-13-then-109", None, [(13, "0000:cb:00.0", "application"), (109, "0000:cb:00.0", "hardware")]),
        ("xid-45-after-nvlink", ["0000:ba:00.0"], [(45, "0000:ba:00.0", "consequence")]),
        (
            "nvlink5",
            None,
            [
                (144, "0000:01:00.0", "consequence"),
                (145, "0018:01:00.0", "consequence"),
                (149, "0019:01:00.0", "hardware"),
            ],
        ),
        ("gsp-wpr2", None, [("gsp", None), ("gsp", None)]),
        ("gsp-wpr2", ["0000:01:00.0"], [("gsp", None), ("gsp", None)]),
        ("heartbeat-never-there", None, []),
        ("oops-in-uvm", ["0000:01:00.0"], [("oops", None)]),
        ("oops-elsewhere", None, []),
        ("not-ready", None, [("reset", "0000:01:00.0"), ("bus", "0000:01:00.0")]),
        ("not-ready", ["0000:02:00.0"], []),
        ("not-ready-vfio", None, []),
        ("not-ready-vfio", ["0000:04:00.0"], [("reset", "0000:04:00.0")]),
        (
            "old-forms",
            None,
            [
                (14, "0000:03:00.0", "unknown"),
                (32, "0000:01:00.0", "application"),
                (69, "0000:01:00.0", "application"),
                (62, "0000:01:00.0", "hardware"),
            ],
        ),
    ],
)
def test_recorded_lines(name: str, addresses: list[str] | None, expected: list[object]) -> None:
    assert what(evidence(name, addresses)) == expected


def test_each_recording_says_where_it_comes_from() -> None:
    for path in RECORDED.glob("*.txt"):
        assert [line.split(":")[0] for line in path.read_text().splitlines()[:3]] == [
            "# source",
            "# driver",
            "# date",
        ], path


def test_journalctl_lets_through_all_that_counts() -> None:
    """Evidence is read from what journalctl's --grep leaves over: nothing may depend on another line."""
    for path in RECORDED.glob("*.txt"):
        lines = recorded(path.stem)
        left = [line for line in lines if re.search(PATTERN, line)]
        assert what(read_evidence(log(*left), None)) == what(read_evidence(log(*lines), None)), path.name


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["NVRM: Xid (0000:03:00): 6"], [(6, "0000:03:00.0", "unknown")]),
        (["NVRM: Xid (PCI:0000:c1:00 GPU-I:05): 13, pid=7, name=x"], [(13, "0000:c1:00.0", "application")]),
        (
            [
                "NVRM: Xid (PCI:0000:c1:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (PF FLR)",
                "NVRM: Xid (PCI:0000:c1:00): 154, GPU recovery action changed from 0x1 (PF FLR) to 0x0 (None)",
            ],
            [(154, "0000:c1:00.0", "consequence")],
        ),
        (
            [
                "NVRM: Xid (PCI:0000:c1:00): 149, NETIR Fatal XC0 i0 Link -1 (0x0)",
                "NVRM: Xid (PCI:0000:c1:00): 149, NETIR Nonfatal XC0 i0 Link -1 (0x0)",
            ],
            [(149, "0000:c1:00.0", "hardware"), (149, "0000:c1:00.0", "consequence")],
        ),
        # The driver's own number of the GPU is known where an Xid names both.
        (
            [
                "NVRM: Xid (PCI:0000:a1:00): 45, pid=1, name=x, waiting for GPU6 GSP",
                "NVRM: GPU6 _kgspBootGspRm: unexpected WPR2 already up, cannot proceed with booting GSP",
            ],
            [(45, "0000:a1:00.0", "consequence"), ("gsp", "0000:a1:00.0")],
        ),
        (
            [
                "NVRM: The NVIDIA GPU 0000:18:00.0 (PCI ID: 10de:2bb5)\nNVRM: installed in this system has\nNVRM: fallen off the bus"
            ],
            [("bus", "0000:18:00.0")],
        ),
        (
            [
                "NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error 0x60, requiring os reboot to recover."
            ],
            [("oops", None)],
        ),
        (
            ["watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python3:123]", " uvm_spin+0x1/0x2 [nvidia_uvm]"],
            [("oops", None)],
        ),
        (
            [
                "BUG: unable to handle page fault for address: 0",
                " ? uvm_spin+0x1/0x2 [nvidia_uvm]",
                " vfs_write+0xe6/0x570",
            ],
            [],
        ),
        (["BUG: unable to handle page fault for address: 0", " nv_x+0x1/0x2 [nvidia 7d5a8c]"], [("oops", None)]),
        (["Oops: 0000 [#1] SMP PTI", "---[ end trace 0000000000000000 ]---", "RIP: 0010:nv_x+0x1/0x2 [nvidia]"], []),
        (["nvidia-nvswitch1: SXid (PCI:0000:aa:00.0): 24007, Severity 1 Engine instance 12"], []),
    ],
)
def test_forms_of_lines(lines: list[str], expected: list[object]) -> None:
    assert what(read_evidence(log(*lines))) == expected


def test_a_trace_of_something_later_is_not_the_oops_s() -> None:
    lines = ["BUG: unable to handle page fault for address: 0", "RIP: 0010:nv_x+0x1/0x2 [nvidia]"]
    assert what(read_evidence(log(*lines, every=1.0))) == [("oops", None)]
    assert what(read_evidence(log(*lines, every=3.0))) == []


def test_the_sentence_of_one_fault() -> None:
    found = read_evidence(
        log("NVRM: Xid (PCI:0000:c1:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.")
    )
    assert found.sentence() == (
        "The kernel log has a hardware fault: Xid 79 (GPU has fallen off the bus) of GPU 0000:c1:00.0 at 2026-11-30 10:00:00 UTC. "
        f"Nothing was ended, and nothing may be started before that is cured. {POWER_OFF} "
        "If that was done since, name a later time in evidence_since, such as '2026-11-30 10:00:01 UTC'."
    )


def test_the_sentence_of_several() -> None:
    lines = [
        f"NVRM: Xid (PCI:0000:{bus}:00): {number}, x"
        for bus, number in (("01", 62), ("02", 120), ("03", 95), ("04", 64), ("05", 31))
    ]
    found = read_evidence(log(*lines, every=60.0))
    assert found.why == (
        "The kernel log has hardware faults: Xid 62 (internal micro-controller halted) of GPU 0000:01:00.0 at 2026-11-30 10:00:00 UTC, "
        "Xid 120 (GSP firmware failed) of GPU 0000:02:00.0 at 2026-11-30 10:01:00 UTC, "
        "Xid 95 (uncontained memory error) of GPU 0000:03:00.0 at 2026-11-30 10:02:00 UTC and 1 more. "
        "Nothing was ended, and nothing may be started before that is cured."
    )
    assert found.next_step == (
        f"{RESET} If that was done since, name a later time in evidence_since, such as '2026-11-30 10:03:01 UTC'."
    )


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("xid-62-then-154", RESET),
        ("xid-119-rtx-pro-6000", RESET),
        ("xid-119-then-154", POWER_OFF),
        ("gsp-wpr2", POWER_OFF),
        ("oops-in-uvm", "Reboot the host that runs the driver."),
        (
            "nvlink5",
            "Reset all GPUs of the NVLink fabric together where their driver runs (nvidia-smi --gpu-reset), or reboot that host.",
        ),
    ],
)
def test_the_strongest_cure_is_named(name: str, cure: str) -> None:
    step = evidence(name).next_step
    assert step is not None
    assert step.startswith(f"{cure} If that was done since")


def test_a_timeout_of_one_gpu_and_a_wish_for_another_are_two_matters() -> None:
    lines = [
        "NVRM: Xid (PCI:0000:01:00): 119, x",
        "NVRM: Xid (PCI:0000:02:00): 154, changed from 0x0 (None) to 0x1 (PF FLR)",
    ]
    step = read_evidence(log(*lines)).next_step
    assert step is not None
    assert step.startswith(RESET)


def test_a_fault_that_names_no_gpu() -> None:
    assert evidence("oops-in-uvm").why == (
        "The kernel log has a hardware fault: kernel broke in nvidia_uvm at 2026-11-30 10:00:00 UTC. "
        "Nothing was ended, and nothing may be started before that is cured."
    )


@pytest.mark.parametrize(
    "name", ["xid-31-sglang", "xid-13-unknown-process", "xid-45-after-nvlink", "heartbeat-never-there"]
)
def test_what_stops_nothing(name: str) -> None:
    found = evidence(name)
    assert (found.hardware, found.why, found.next_step, found.sentence()) == ((), None, None, None)


def test_of_what_recurs_the_newest_counts() -> None:
    found = read_evidence(log(*recorded("xid-119-rtx-pro-6000"), every=60.0))
    assert [xid.line[-10:] for xid in found.xids] == ["(0x80 0x38)."[-10:]]
    assert found.xids[0].time_seconds == TEN + 60


def test_as_the_module_returns_it() -> None:
    lines = ["NVRM: Xid (PCI:0000:01:00): 31, pid=1, name=python3, Ch 8", *recorded("oops-in-uvm")]
    assert read_evidence(log(*lines)).as_dict() == {
        "since": "@1796032000",
        "readable": True,
        "xids": [
            {
                "number": 31,
                "pci_address": "0000:01:00.0",
                "kind": "application",
                "what": "memory page fault",
                "time": "2026-11-30T10:00:00Z",
                "line": "NVRM: Xid (PCI:0000:01:00): 31, pid=1, name=python3, Ch 8",
            }
        ],
        "faults": [
            {
                "kind": "oops",
                "pci_address": None,
                "what": "kernel broke in nvidia_uvm",
                "time": "2026-11-30T10:00:00Z",
                "line": "BUG: kernel NULL pointer dereference, address: 0000000000000000",
            }
        ],
    }


def test_a_log_that_could_not_be_read_proves_nothing() -> None:
    found = read_evidence(KernelLog(False, None, why_not="No journal."), ["0000:01:00.0"])
    assert found.as_dict() == {"since": None, "readable": False, "xids": [], "faults": []}
    assert found.why_not == "No journal."
    assert found.sentence() is None


@pytest.mark.parametrize(
    "message",
    [
        "NVRM: Xid (PCI:[28016]: segfault at 0 ip 000055680ef08132 sp 00007ffe4e080370 error 6 in NVRM: Xid (PCI:0000:01:00): 79, pid=1[1132,55680000+1000]",
        "traps: NVRM: [28016] trap invalid opcode ip:55680ef08132 sp:7ffe4e080370 error:0 in x fallen off the bus[1132,55680ef08000+1000]",
        "NVRM: [28016]: unhandled exception: SP/PC alignment, ESR 0x8a000000, SP/PC alignment exception in unexpected WPR2 already up[1132,55680000+1000]",
        "Memory cgroup out of memory: Killed process 28016 (WPR2 already up) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB, UID:1000",
    ],
    ids=["segfault", "trap", "exception on ARM", "out of memory"],
)
def test_no_program_forges_a_fault_by_its_name(message):
    assert what(read_evidence(log(message))) == []
