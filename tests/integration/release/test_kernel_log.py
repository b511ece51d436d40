# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel log of a real journald: none in a container, the real one in the virtual machine."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import ObservationError
from ansible_collections.blackwell.inference.plugins.module_utils.observe import kernel_log
from ansible_collections.blackwell.inference.plugins.module_utils.observe.kernel_log import ABSENT, read_kernel_log
from ansible_collections.blackwell.inference.plugins.module_utils.release.kernel_faults import read_evidence
from ansible_collections.blackwell.inference.tests.testhost import vm as vms
from ansible_collections.blackwell.inference.tests.testhost.host import Host
from ansible_collections.blackwell.inference.tests.testhost.site import Site
from ansible_collections.blackwell.inference.tests.testhost.vm import Vm

XID_79 = "NVRM: Xid (PCI:0000:01:00): 79, pid=7, name=x, GPU has fallen off the bus."
XID_31 = "NVRM: Xid (PCI:0000:02:00): 31, pid=7, name=x, Ch 00000008"
OOPS = "BUG: kernel NULL pointer dereference, address: 0"
FRAME = " nv_kthread_q_flush+0x7f/0x130 [nvidia_uvm]"


def use_journalctl_of(there: Host | Vm, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader runs here, and the journalctl that it finds there."""
    script = directory / "journalctl"
    script.write_text(f'#!/bin/bash\nprintf -v words "%q " "$@"\nexec {shlex.join(there.ssh)} "journalctl $words"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")


@pytest.mark.testhost
def test_a_container_has_no_kernel_log(testhost: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert testhost.execute("journalctl", "--quiet", "--lines=1").stdout != ""  # its journal has entries
    use_journalctl_of(testhost, tmp_path, monkeypatch)
    for since in (None, "-2h", "@1796010000"):
        log = read_kernel_log(since)
        assert (log.readable, log.entries, log.why_not) == (False, (), ABSENT)


@pytest.mark.testhost
def test_real_answers_of_journalctl(testhost: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without kernel messages, all that a container can show: what it says to a bad time, and to a pattern that matches nothing."""
    use_journalctl_of(testhost, tmp_path, monkeypatch)
    assert kernel_log._matching(None, 10) == ()
    with pytest.raises(ObservationError, match="Failed to parse timestamp: yesteryear"):
        kernel_log._matching("yesteryear", 10)


@pytest.fixture
def spoilt(site: Site) -> Iterator[Vm]:
    """A machine of its own: what stands in its kernel log cannot be taken back, and other tests are to find no fault there."""
    pid = os.getpid()
    machine = vms.up(site, f"pytest-kernel-log-{pid}", owner_pid=pid)
    yield machine
    vms.down(machine)


@pytest.mark.vm
def test_the_kernel_log_of_a_machine(spoilt: Vm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that root writes to /dev/kmsg come back as the kernel's. journald takes the word before the first colon for the sender's name there, so
    the driver's `NVRM:` has another in front."""
    use_journalctl_of(spoilt, tmp_path, monkeypatch)
    assert read_kernel_log() == kernel_log.KernelLog(True, None)
    write = "; sleep 1; ".join(f"echo {shlex.quote('kernel: ' + line)} >/dev/kmsg" for line in (XID_79, XID_31))
    oops = " && ".join(f"echo {shlex.quote('kernel: ' + line)} >/dev/kmsg" for line in (OOPS, FRAME))
    between = spoilt.execute(f"{write}; sleep 1; date +@%s.%N; sleep 1; {oops}; journalctl --sync").stdout.strip()
    found = read_evidence(read_kernel_log())
    assert [(xid.number, xid.pci_address) for xid in found.xids] == [(79, "0000:01:00.0"), (31, "0000:02:00.0")]
    assert [fault.what for fault in found.faults] == ["kernel broke in nvidia_uvm"]
    assert [entry.message for entry in read_kernel_log(between).entries] == [OOPS, FRAME]
