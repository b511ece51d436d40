# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The status of one GPU from one reading: its state, the reason, and what to do about it. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..core.text import abridged
from ..observe.nvml.errors import RESET_REQUIRED
from ..observe.nvml.usage import GpuUse
from . import advice
from .advice import Visibility
from .occupancy import Occupancy

STATES = ("released", "held", "held_by_unseen", "unproven", "needs_reset", "needs_reboot")
"""From the best to the worst: each takes more to get out of than those before it."""


@dataclass(frozen=True)
class GpuStatus:
    """`why` and `next_step` are sentences, None for a GPU that is released."""

    state: str
    why: str | None = None
    next_step: str | None = None


RELEASED = GpuStatus("released")


def worst_status(findings: Sequence[GpuStatus]) -> GpuStatus:
    """The first of the worst."""
    return max(findings, key=lambda finding: STATES.index(finding.state), default=RELEASED)


@dataclass(frozen=True)
class Case:
    """One GPU and all that bears on it. `occupancies`: those on this GPU; `limit_bytes`: what an idle one may show as used."""

    use: GpuUse
    occupancies: tuple[Occupancy, ...]
    visibility: Visibility
    limit_bytes: int
    left_out: int = 0
    broken_off: str | None = None

    @property
    def name(self) -> str:
        return f"GPU {self.use.index}"

    @property
    def blocking(self) -> list[Occupancy]:
        return [
            occupancy for occupancy in self.occupancies if occupancy.blocks and not (occupancy.presumed and self.idle)
        ]

    @property
    def counted_bytes(self) -> int | None:
        """What is used without that of tolerated ones; None where it is not told."""
        if self.use.memory_used_bytes is None:
            return None
        return self.use.memory_used_bytes - self.memory([occupancy for occupancy in self.listed if occupancy.tolerated])

    @property
    def idle(self) -> bool:
        return self.counted_bytes is not None and self.counted_bytes <= self.limit_bytes

    @property
    def listed(self) -> list[Occupancy]:
        """Those that do not block and have memory."""
        return [
            occupancy for occupancy in self.occupancies if not occupancy.blocks and self.use.index in occupancy.memory
        ]

    @property
    def unmeasured(self) -> list[Occupancy]:
        """Tolerated ones whose memory is unknown; without a list, that of any who has the GPU open."""
        if self.use.processes is None:
            return [occupancy for occupancy in self.occupancies if not occupancy.blocks]
        return [
            occupancy for occupancy in self.listed if occupancy.tolerated and occupancy.memory[self.use.index] is None
        ]

    @property
    def strangers(self) -> list[int]:
        """Pids on NVML's list that no claim explains."""
        known = {occupancy.pid for occupancy in self.occupancies}
        return sorted(pid for pid in self.use.processes or () if pid not in known)

    @property
    def in_use(self) -> str:
        text = f"{_size(self.use.memory_used_bytes or 0)} in use"
        return text if self.use.memory_reserved_bytes is not None else f"{text} (with what the driver keeps for itself)"

    def memory(self, occupancies: list[Occupancy]) -> int:
        """What NVML tells of it."""
        return sum(occupancy.memory[self.use.index] or 0 for occupancy in occupancies)


def findings(case: Case) -> list[GpuStatus]:
    """None for a GPU that is free. In the order in which a reader wants them among equals."""
    found = [*_of_driver(case), *_of_processes(case), *([] if case.blocking else _of_memory(case))]
    return found or list(_of_sight(case))


def _of_driver(case: Case) -> Iterator[GpuStatus]:
    use, visibility = case.use, case.visibility
    if use.state == "error":
        yield GpuStatus(
            "unproven",
            use.error,
            f"Look for NVRM or Xid in the kernel log; nothing is known of {case.name} until it answers.",
        )
    elif use.refused == RESET_REQUIRED:
        yield GpuStatus("needs_reset", use.error, advice.reset(use, visibility))
    elif use.state != "ok":
        yield GpuStatus("needs_reboot", use.error, advice.reboot(visibility))
    if use.wants_recovery:
        state = "needs_reboot" if use.recovery_action in advice.REBOOT_ACTIONS else "needs_reset"
        why = f"The driver wants the recovery action {use.recovery_action} for {case.name}."
        yield GpuStatus(state, why, advice.recover(use, visibility))


def _of_processes(case: Case) -> Iterator[GpuStatus]:
    stuck = [occupancy.text for occupancy in case.occupancies if occupancy.survived_kill]
    if stuck:
        why = f"{case.name} is held by {abridged(stuck)}, which SIGKILL did not end: stuck in the kernel."
        yield GpuStatus("needs_reboot", why, advice.reboot_kernel(case.visibility))
    if case.blocking:
        memory = "" if case.use.memory_used_bytes is None else f"has {case.in_use} and "
        names = abridged([occupancy.text for occupancy in case.blocking])
        yield GpuStatus("held", f"{case.name} {memory}is held by {names}.", _end(case.blocking))
    if case.strangers:
        yield _strangers(case)


def _strangers(case: Case) -> GpuStatus:
    listed = f"NVML lists {abridged([f'process {pid}' for pid in case.strangers])} on {case.name}"
    if not case.visibility.root:
        return GpuStatus("held", f"{listed}, which this user cannot look into.", "Run as root.")
    if case.visibility.container:
        return GpuStatus("held_by_unseen", f"{listed}, none of this container's.", advice.ask_host(case.visibility))
    return GpuStatus(
        "held",
        f"{listed}, which cannot be found: just started or just ended, or the driver lost track of it.",
        f"Look again. If what is listed stays so and does not run: {advice.reset(case.use, case.visibility)}",
    )


def _of_memory(case: Case) -> Iterator[GpuStatus]:
    use = case.use
    if use.state != "ok":
        return
    counted = case.counted_bytes
    if counted is None:
        yield GpuStatus(
            "unproven",
            f"{case.name} does not tell how much of its memory is used.",
            "Look in unread for what NVML refused.",
        )
        return
    if case.idle:
        return
    excess = f"{case.name} has {case.in_use}, where an idle one has at most {_size(case.limit_bytes)}"
    if case.unmeasured:
        names = abridged([occupancy.text for occupancy in case.unmeasured])
        why = f"{excess}, and NVML does not tell how much of it is that of {names}."
        yield GpuStatus("unproven", why, f"End {names}, or raise idle_memory_bytes by what it needs.")
        return
    fillers = [occupancy for occupancy in case.listed if not occupancy.tolerated]
    sizes = [
        *(occupancy.memory[use.index] for occupancy in fillers),
        *((use.processes or {})[pid] for pid in case.strangers),
    ]
    unseen = counted - sum(size for size in sizes if size is not None)
    if None not in sizes and unseen > case.limit_bytes:
        yield _unseen(case, excess, unseen)
    elif fillers:
        yield GpuStatus(
            "held", f"{excess}: the memory of {abridged([occupancy.text for occupancy in fillers])}.", _end(fillers)
        )


def _of_sight(case: Case) -> Iterator[GpuStatus]:
    """Root sees all but single processes, whose memory would show; another user sees nobody's but his own."""
    if case.left_out and not case.visibility.root:
        why = f"Nothing that this user can see holds {case.name}, and the processes of other users could not be looked into."
        yield GpuStatus("unproven", why, "Run as root.")
    elif case.broken_off:
        why = f"Nothing that was seen holds {case.name}, but not all processes were looked at: {case.broken_off}."
        yield GpuStatus(
            "unproven", why, "Look again. If it ends so again, see what is wrong with the process that it names."
        )


def _unseen(case: Case, excess: str, unseen_bytes: int) -> GpuStatus:
    size = _size(unseen_bytes)
    if not case.visibility.root:
        return GpuStatus("unproven", f"{excess}; {size} belong to no process that this user can see.", "Run as root.")
    if case.left_out:
        return GpuStatus(
            "unproven",
            f"{excess}; {size} belong to no process that could be seen, and {case.left_out} could not be looked into.",
            "Look in unread for the processes that were left out: one of them may hold the GPU.",
        )
    if case.visibility.container:
        why = f"{excess}; {size} belong to no process that can be seen in this container: only its host can tell whose they are."
        return GpuStatus("held_by_unseen", why, advice.ask_host(case.visibility))
    return GpuStatus(
        "needs_reset",
        f"{excess}; {size} belong to no process: they were leaked.",
        advice.reset(case.use, case.visibility),
    )


def _end(occupancies: list[Occupancy]) -> str:
    first = occupancies[0]
    if not first.why:
        return f"End {abridged([occupancy.text for occupancy in occupancies])}, or name the executable in allow if it may keep the GPU open."
    return first.why if len(occupancies) == 1 else f"Process {first.pid}: {first.why}"


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 2**30:.1f} GiB" if size_bytes >= 2**30 else f"{size_bytes / 2**20:.0f} MiB"
