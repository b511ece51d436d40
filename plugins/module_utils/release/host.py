# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine that a release works on. Private to the collection, may change any time."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from ..observe.files import HostFiles
from ..observe.holders.gpu_nodes import read_gpu_nodes
from ..observe.holders.scan import read_holders
from ..observe.identity import Identity, lineage_of, start_of
from ..observe.kernel_log import read_kernel_log
from ..observe.memory import Segment
from ..observe.nvml.usage import read_use
from ..observe.systemd import Run, show_properties
from ..observe.virtualisation import read_virtualisation
from . import termination
from .advice import read_place
from .kernel_faults import KernelEvidence, read_evidence
from .ownership import Selection, selection
from .request import ReleaseRequest
from .snapshot import Snapshot, take_snapshot
from .termination import Outcome

_PROPERTIES = ("ActiveState", "ControlGroup", "ControlPID", "MainPID", "ExecMainStartTimestamp")


class LocalHost:
    """This machine. `detected_virtualisation`: the word of systemd-detect-virt, None where it is silent."""

    def __init__(self, request: ReleaseRequest, run: Run, detected_virtualisation: str | None) -> None:
        self._request = request
        self._run = run
        self._files = HostFiles()
        self._unit = self._read_unit()
        self._place = read_place(read_virtualisation(self._files, detected_virtualisation))
        self._select(self._unit)  # what makes no sense is refused before anything is looked at

    def snapshot(self, survivors: Collection[int] = ()) -> Snapshot:
        """NVML goes first: its own process has the GPUs open, and is gone when holders are looked for. The unit goes last: systemd may start it at
        any time, and whoever was found after that belongs to the start that is told of then.
        """
        request = self._request
        reading = read_use(self._files, request.nvml_library, request.nvml_timeout_seconds)
        listed = {pid for gpu in reading.gpus for pid in gpu.processes or ()}
        scan = read_holders(
            read_gpu_nodes(), tuple(request.environment), request.scan_timeout_seconds, listed=sorted(listed)
        )
        selected = self._select(self._read_unit())
        return take_snapshot(reading, scan, self._place, selected, request.gpus, request.idle_memory_bytes, survivors)

    def evidence(self, snapshot: Snapshot) -> KernelEvidence:
        """Of the selected GPUs; of all where NVML does not tell which is where."""
        addresses = [gpu.pci_address for gpu in snapshot.reading.gpus if gpu.index in snapshot.selected]
        known = [address for address in addresses if address is not None]
        since = self._request.evidence_since or self._unit.get("ExecMainStartTimestamp") or None
        return read_evidence(read_kernel_log(since), known if known and len(known) == len(addresses) else None)

    def end(self, identities: Iterable[Identity], grace_seconds: float, deadline: float) -> dict[int, Outcome]:
        return termination.end(identities, grace_seconds, deadline)

    def remove(self, segment: Segment) -> bool:
        """Only while it is the file that was found unused: a name can be taken again at any time."""
        path = Path(segment.path)
        try:
            found = path.lstat()
            if (found.st_ino, found.st_uid, found.st_mtime) != (segment.inode, segment.uid, segment.modified):
                return False
            path.unlink()
        except OSError:
            return False
        return True

    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def _read_unit(self) -> dict[str, str]:
        return show_properties(self._run, self._request.unit, _PROPERTIES) if self._request.unit else {}

    def _select(self, unit: Mapping[str, str]) -> Selection:
        request = self._request
        return selection(
            unit=request.unit,
            control_group=unit.get("ControlGroup") or None,
            running_since=_running_since(unit),
            uid=request.uid,
            environment=request.environment,
            allow=request.allow,
            spared=lineage_of(os.getpid()),
        )


def _running_since(unit: Mapping[str, str]) -> float | None:
    """While systemd itself stops the unit, or it runs without a main process, all that is in it counts as of the running one. What is run before the
    main process is a part of its start.
    """
    state, main, control = unit.get("ActiveState"), int(unit.get("MainPID") or 0), int(unit.get("ControlPID") or 0)
    if main > 0:
        return start_of(main)
    if state in ("active", "reloading", "deactivating"):
        return 0.0
    return start_of(control) if control > 0 else None
