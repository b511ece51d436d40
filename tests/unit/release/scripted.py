# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine that follows a script: what is seen at each look, and what became of the processes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ansible_collections.blackwell.inference.plugins.module_utils.observe.holders.scan import Holder, Holders
from ansible_collections.blackwell.inference.plugins.module_utils.observe.identity import Identity
from ansible_collections.blackwell.inference.plugins.module_utils.observe.memory import Segment
from ansible_collections.blackwell.inference.plugins.module_utils.observe.nvml.usage import GpuUse, UseReading
from ansible_collections.blackwell.inference.plugins.module_utils.release.advice import Visibility
from ansible_collections.blackwell.inference.plugins.module_utils.release.kernel_faults import KernelEvidence
from ansible_collections.blackwell.inference.plugins.module_utils.release.ownership import Selection, selection
from ansible_collections.blackwell.inference.plugins.module_utils.release.snapshot import Snapshot, take_snapshot
from ansible_collections.blackwell.inference.plugins.module_utils.release.termination import Outcome

MIB, GIB = 1 << 20, 1 << 30
CARD_BYTES = 95 * GIB
IDLE_BYTES = 600 * MIB
SERVICE_UID = 990
METAL = Visibility(True, True, "bare_metal", False)
UNIT = "sglang-kimi.service"
GROUP = f"/system.slice/{UNIT}"
MARK = {"BLACKWELL_INSTANCE": "kimi"}
OURS = selection(UNIT, None, None, SERVICE_UID, MARK)
CLEAN = KernelEvidence("boot", True)


def gpu(index: int = 0, used: int = 0, processes: dict[int, int | None] | None = None, **more: object) -> GpuUse:
    facts = {"minor": index, "uuid": f"GPU-{index}", "pci_address": f"0000:0{index}:00.0", "recovery_action": "none"}
    sizes = {"memory_total_bytes": CARD_BYTES, "memory_used_bytes": used, "memory_reserved_bytes": 0}
    return GpuUse(index, **{**facts, **sizes, "processes": processes or {}, **more})


def holder(pid: int, name: str = "sglang::schedul", **more: object) -> Holder:
    """A rank of the service that left its unit; `more` says otherwise."""
    identity = {
        "start_ticks": 1000 + pid,
        "control_group": "/",
        "uid": SERVICE_UID,
        "executable": "/opt/sglang/bin/python3",
    }
    mine = {key: more.pop(key) for key in tuple(more) if key in identity}
    facts = {
        "state": "S",
        "live_threads": 1,
        "parent_pid": 1,
        "namespace_pids": (pid,),
        "unit": None,
        "container": None,
        "started": 1_700_000_000.0,
        "devices": {"nvidia0": ("descriptor",), "nvidia-uvm": ("descriptor",)},
        "environment": MARK,
    }
    return Holder(Identity(pid, **{**identity, **mine}), name, **{**facts, **more})


def stranger(pid: int, **more: object) -> Holder:
    return holder(pid, "python3", **{"uid": 1000, "environment": {}, "executable": "/usr/bin/python3", **more})


def segment(name: str, uid: int = SERVICE_UID, referenced: bool = False) -> Segment:
    return Segment(f"/dev/shm/{name}", 4096, uid, 7, 1_700_000_000.0, referenced)


def seen(
    gpus: Sequence[GpuUse],
    holders: Sequence[Holder] = (),
    segments: Sequence[Segment] = (),
    selected: Selection = OURS,
    visibility: Visibility = METAL,
    asked: Sequence[str] = (),
    survivors: Collection[int] = (),
) -> Snapshot:
    scan = Holders(tuple(holders), tuple(segments), 100, 1000)
    return take_snapshot(UseReading(gpus=tuple(gpus)), scan, visibility, selected, asked, IDLE_BYTES, survivors)


class ScriptedHost:
    """`looks` one after the other, the last one for ever; `becomes`: outcome of whom it is told to end, exited by default."""

    def __init__(
        self, *looks: Snapshot, evidence: KernelEvidence = CLEAN, becomes: dict[int, Outcome] | None = None
    ) -> None:
        self.looks = list(looks)
        self.told_evidence = evidence
        self.becomes = becomes or {}
        self.time = 0.0
        self.ended: list[int] = []
        self.removed: list[str] = []
        self.survivors: list[int] = []

    def snapshot(self, survivors: Collection[int] = ()) -> Snapshot:
        self.survivors = list(survivors)
        return self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]

    def evidence(self, snapshot: Snapshot) -> KernelEvidence:
        return self.told_evidence

    def end(self, identities: Iterable[Identity], grace_seconds: float, deadline: float) -> dict[int, Outcome]:
        pids = [identity.pid for identity in identities]
        self.ended += pids
        return {pid: self.becomes.get(pid, Outcome("exited", ("TERM",))) for pid in pids}

    def remove(self, segment: Segment) -> bool:
        self.removed.append(segment.path)
        return True

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds
